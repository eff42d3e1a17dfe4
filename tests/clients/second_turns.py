"""An agent whose every second turn sends back what a server made up: ids, a link, a time, a whole comment."""
import json
import uuid

import httpx
from anthropic import Anthropic
from google import genai
from openai import OpenAI

QUESTION = "How is the weather"
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}

# A client that loses patience asks twice, and that is another recording.
github = httpx.Client(base_url="https://api.github.com", timeout=60)
chat, messages = OpenAI(timeout=60), Anthropic(timeout=60)
gemini = genai.Client(api_key="made-up-for-the-test")


def ask(turns, **options):
    return chat.chat.completions.create(model="gpt-4o-mini", messages=turns, **options)


tool = {"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}
turns = [{"role": "user", "content": QUESTION}]
turn = ask(turns, tools=[tool]).choices[0].message
call = turn.tool_calls[0]
turns += [turn.to_dict(), {"role": "tool", "tool_call_id": call.id, "content": "sunny"}]
print("openai", call.id, ask(turns, tools=[tool]).choices[0].message.content)

issue = github.get("/repos/o/r/issues/3").json()
print("issue", issue["id"], issue["created_at"])
print("summary", ask([{"role": "user", "content": f"Sum up {json.dumps(issue)}"}]).choices[0].message.content)

made = github.post("/repos/o/r/issues/3/comments", json={"body": f"see {call.id}"}).json()
again = github.get(f"/repos/o/r/issues/comments/{made['id']}").json()
assert again["created_at"] == again["updated_at"] == made["created_at"]
print("comment", made["id"], made["node_id"], again["html_url"], again["created_at"])
told = f"I wrote {again['html_url']} at {again['created_at']}: {json.dumps({'was': again})}"
for chunk in ask([{"role": "user", "content": told}], stream=True):
    print("chunk", chunk.id, chunk.created, chunk.choices[0].delta.content)

tool = {"name": "weather", "input_schema": PARAMETERS}
common = {"model": "claude-sonnet-4-5", "max_tokens": 64, "tools": [tool]}
turns = [{"role": "user", "content": QUESTION}]
turn = messages.messages.create(messages=turns, **common)
use = turn.content[0]
turns += [
    {"role": "assistant", "content": [use.to_dict()]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "sunny"}]},
]
print("anthropic", use.id, messages.messages.create(messages=turns, **common).content[0].text)

said = gemini.models.generate_content(model="gemini-2.5-flash", contents="ping")
print("gemini", said.response_id, said.text)
told = f"after {said.response_id}"
for chunk in gemini.models.generate_content_stream(model="gemini-2.5-flash", contents=told):
    print("gemini chunk", chunk.response_id, chunk.text)

# What the client makes up is new in every run, and stands in a prompt of its own.
run = str(uuid.uuid4())
response = chat.responses.create(model="gpt-4o-mini", input="ping", metadata={"run": run})
print("response", response.id, response.output[0].id, int(response.created_at))
last = chat.responses.create(model="gpt-4o-mini", input="again", previous_response_id=response.id)
print("response", last.id)
