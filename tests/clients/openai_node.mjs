// The openai package for Node: a whole answer and a streamed one.
import OpenAI from 'openai';

const client = new OpenAI();
const model = 'gpt-4o-mini';

const whole = await client.chat.completions.create({ model, messages: [{ role: 'user', content: 'ping' }] });
console.log('whole', whole.id, whole.created, JSON.stringify(whole.choices[0].message.content));

const messages = [
  { role: 'user', content: 'ping' },
  whole.choices[0].message,
  { role: 'user', content: 'and again' },
];
for await (const chunk of await client.chat.completions.create({ model, messages, stream: true })) {
  console.log('chunk', chunk.id, JSON.stringify(chunk.choices[0].delta.content), chunk.choices[0].finish_reason);
}
