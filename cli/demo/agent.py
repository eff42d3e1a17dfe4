"""A small triage agent: reads an issue from GitHub, asks a model about it, and labels it.

Plain Python, no packages. It talks to api.github.com and api.openai.com over HTTPS as any program would; nothing in
it knows that it is being replayed.
"""

import json
import os
import sys
import urllib.request

ISSUE = "https://api.github.com/repos/acme/rocket/issues/7"


KEYS = {"api.github.com": "GITHUB_TOKEN", "api.openai.com": "OPENAI_API_KEY"}


def call(method, url, body=None):
    key = os.environ.get(KEYS[url.split("/")[2]], "none")
    headers = {
        "Accept": "application/json",
        "Authorization": "Bearer " + key,
        "User-Agent": "triage-agent",
    }
    data = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        data = json.dumps(body).encode()
    return urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method))


issue = json.load(call("GET", ISSUE))
print(f"issue #{issue['number']}: {issue['title']}")

question = {
    "model": "gpt-4o-mini",
    "stream": True,
    "messages": [
        {"role": "system", "content": "Name one label for this issue, then say why in one sentence."},
        {"role": "user", "content": issue["title"] + "\n\n" + issue["body"]},
    ],
}
answer = ""
sys.stdout.write("model:    ")
for line in call("POST", "https://api.openai.com/v1/chat/completions", question):
    line = line.decode().strip()
    if line.startswith("data: {"):
        piece = json.loads(line[6:])["choices"][0]["delta"].get("content", "")
        answer += piece
        sys.stdout.write(piece)
        sys.stdout.flush()
print()

label = answer.split(":")[0].strip().lower()
labels = json.load(call("POST", ISSUE + "/labels", {"labels": [label]}))
print("labels:  ", ", ".join(entry["name"] for entry in labels))
