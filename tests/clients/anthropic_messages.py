"""A talk with Anthropic: a whole message, a streamed one, and a tool whose id goes back in the next turn."""
from anthropic import Anthropic

client = Anthropic()
COMMON = {"model": "claude-sonnet-4-5", "max_tokens": 64}
TOOL = {
    "name": "weather",
    "description": "The weather in a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}

raw = client.messages.with_raw_response.create(messages=[{"role": "user", "content": "ping"}], **COMMON)
whole = raw.parse()
print("whole", raw.headers["request-id"], whole.id, repr(whole.content[0].text), whole.usage.output_tokens)

with client.messages.stream(messages=[{"role": "user", "content": "stream it"}], **COMMON) as stream:
    for event in stream:
        print("event", event.type)
    final = stream.get_final_message()
print("streamed", final.id, repr(final.content[0].text), final.stop_reason)

messages = [{"role": "user", "content": "How is the weather"}]
turn = client.messages.create(messages=messages, tools=[TOOL], **COMMON)
use = turn.content[0]
print("tool", turn.id, use.id, use.name, use.input)

messages += [
    {"role": "assistant", "content": [{"type": "tool_use", "id": use.id, "name": use.name, "input": use.input}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "sunny"}]},
]
last = client.messages.create(messages=messages, tools=[TOOL], **COMMON)
print("after the tool", last.id, repr(last.content[0].text))
