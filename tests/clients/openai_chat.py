"""A chat with OpenAI: a whole answer, a streamed one, and a tool call whose id goes back in the next turn."""
import json

from openai import OpenAI

client = OpenAI()
MODEL = "gpt-4o-mini"
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}

print("models", [model.id for model in client.models.list()])

raw = client.chat.completions.with_raw_response.create(
    model=MODEL, messages=[{"role": "user", "content": "List open issues"}]
)
whole = raw.parse()
text = whole.choices[0].message.content
print("whole", raw.headers["x-request-id"], whole.id, whole.created, repr(text), whole.usage.total_tokens)

messages = [
    {"role": "user", "content": "List open issues"},
    {"role": "assistant", "content": text},
    {"role": "user", "content": "And the closed ones"},
]
for chunk in client.chat.completions.create(model=MODEL, messages=messages, stream=True):
    choice = chunk.choices[0]
    print("chunk", chunk.id, chunk.created, repr(choice.delta.content), choice.finish_reason)

messages = [{"role": "user", "content": "How is the weather"}]
turn = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL])
message = turn.choices[0].message
call = message.tool_calls[0]
print("tool", turn.id, call.id, call.function.name, json.loads(call.function.arguments))

messages += [
    message.to_dict(),
    {"role": "tool", "tool_call_id": call.id, "content": "sunny"},
]
last = client.chat.completions.create(model=MODEL, messages=messages, tools=[TOOL])
print("after the tool", last.id, repr(last.choices[0].message.content))

response = client.responses.create(model=MODEL, input="ping")
print("response", response.id, repr(response.output_text))
with client.responses.create(model=MODEL, input="ping again", stream=True) as events:
    for event in events:
        print("event", event.sequence_number, event.type, getattr(event, "delta", None))
