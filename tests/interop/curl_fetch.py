"""`curl_fetch.py HOST PORT NAME PATH...`: fetches all paths at once over HTTP/3 with curl_cffi. Prints a JSON line for each.

Runs in a Python environment of its own, which knows nothing of the project.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import sys

import curl_cffi
from curl_cffi import AsyncSession, CurlOpt


async def main(host: str, port: str, name: str, paths: list[str]) -> None:
    options = {CurlOpt.RESOLVE: [f"{name}:{port}:{host}"], CurlOpt.PIPEWAIT: 1}
    async with AsyncSession(http_version="v3only", verify=False, curl_options=options, timeout=120) as session:

        async def fetch(path: str) -> None:
            answer = await session.get(f"https://{name}:{port}{path}")
            digest = hashlib.sha256(answer.content).hexdigest()
            sys.stdout.write(json.dumps({"path": path, "status": answer.status_code, "sha256": digest}) + "\n")

        await asyncio.gather(*map(fetch, paths))


if __name__ == "__main__":
    if sys.argv[1] == "--version":
        text = curl_cffi.__curl_version__
        parts = [re.search(rf"{part}/[\d.]+", text) for part in ("libcurl", "ngtcp2", "nghttp3")]
        found = ", ".join(part.group().replace("/", " ") for part in parts if part)
        sys.stdout.write(f"{curl_cffi.__version__} ({found})\n")
    else:
        asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]))
