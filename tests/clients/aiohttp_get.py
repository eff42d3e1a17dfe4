"""aiohttp, two requests at the same time and a stream."""
import asyncio
import os

import aiohttp


async def text(session, url):
    async with session.get(url) as response:
        return response.status, await response.text()


async def main():
    headers = {"authorization": f"Bearer {os.environ['GITHUB_TOKEN']}"}
    async with aiohttp.ClientSession(trust_env=True, headers=headers) as session:
        urls = ["https://api.github.com/user", "https://faults.test/status/418"]
        for status, body in await asyncio.gather(*(text(session, url) for url in urls)):
            print(status, body)
        async with session.get("https://faults.test/slow-sse?events=3") as response:
            async for line in response.content:
                print("line", line)


asyncio.run(main())
