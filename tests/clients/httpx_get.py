"""httpx over HTTP/2: content codings, a stream read line by line, an upload, and a text that is not UTF-8."""
import os

import httpx

headers = {"authorization": f"Bearer {os.environ['GITHUB_TOKEN']}"}
with httpx.Client(http2=True, headers=headers) as client:
    user = client.get("https://api.github.com/user")
    print(user.status_code, user.http_version, user.text)
    for coding in ["gzip", "deflate"]:
        print(client.get(f"https://faults.test/{coding}").json()["word"])
    with client.stream("GET", "https://faults.test/slow-sse?events=3") as response:
        for line in response.iter_lines():
            print("line", repr(line))
    print(client.post("https://faults.test/upload", content=b"0123456789" * 50_000).text)
    print(repr(client.get("https://faults.test/latin1").text))
    print([client.get("https://faults.test/repeat?of=httpx").text for _ in range(3)])
