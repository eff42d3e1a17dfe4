"""Gemini through google-genai: a whole answer and a streamed one."""
import os

from google import genai

client = genai.Client(api_key=os.environ["GEMINI_API_KEY"])
MODEL = "gemini-2.5-flash"

whole = client.models.generate_content(model=MODEL, contents="ping")
print("whole", whole.response_id, repr(whole.text), whole.usage_metadata.total_token_count)

for chunk in client.models.generate_content_stream(model=MODEL, contents="stream it"):
    print("chunk", chunk.response_id, repr(chunk.text))
