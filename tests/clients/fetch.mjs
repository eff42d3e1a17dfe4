// The fetch that is built into Node: JSON, a coded body, a stream and a POST.
const headers = { authorization: `Bearer ${process.env.GITHUB_TOKEN}` };

const user = await fetch('https://api.github.com/user', { headers });
console.log(user.status, user.headers.get('content-type'), await user.text());

const coded = await fetch('https://faults.test/br');
console.log(coded.status, (await coded.json()).word);

const stream = await fetch('https://faults.test/slow-sse?events=4');
let events = '';
for await (const chunk of stream.body.pipeThrough(new TextDecoderStream())) events += chunk;
console.log(JSON.stringify(events));

const echoed = await fetch('https://faults.test/uuid-echo', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ request_id: 'req one' }),
});
console.log(echoed.status, await echoed.text());
