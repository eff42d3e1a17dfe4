"""requests: JSON from GitHub in gzip, pages by Link, a POST, and plain HTTP."""
import os

import requests

session = requests.Session()
session.headers["authorization"] = f"Bearer {os.environ['GITHUB_TOKEN']}"

user = session.get("https://api.github.com/user")
print(user.status_code, user.headers["content-type"], user.headers.get("content-encoding"), user.headers["etag"])
print(user.text)

url = "https://api.github.com/repos/o/r/issues?per_page=2"
while url:
    page = session.get(url)
    print("page", [(issue["number"], issue["title"]) for issue in page.json()])
    url = page.links.get("next", {}).get("url")

echo = requests.post("https://faults.test/uuid-echo", json={"request_id": "req one", "n": 1.5})
print(echo.status_code, echo.text)
plain = requests.get("http://faults.test/redirect")
print(plain.status_code, plain.url, plain.text)
