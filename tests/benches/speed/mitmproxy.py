"""What the speed benchmark needs of mitmproxy beyond its options: flows without a recording, and a host that is
reached somewhere else."""

import json

from mitmproxy import connection, ctx, http, io


class Speed:
    def load(self, loader):
        for name in ("speed_exchanges", "speed_flows", "speed_upstream"):
            loader.add_option(name, str, "", name)

    def running(self):
        if not ctx.options.speed_exchanges:
            return
        with open(ctx.options.speed_exchanges) as lines, open(ctx.options.speed_flows, "wb") as out:
            writer = io.FlowWriter(out)
            for line in lines:
                writer.add(flow(*json.loads(line)))
        ctx.master.shutdown()

    def server_connect(self, data):
        if ctx.options.speed_upstream:
            host, port = ctx.options.speed_upstream.rsplit(":", 1)
            data.server.address = (host, int(port))


def flow(method, url, body, reply):
    client = connection.Client(peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), timestamp_start=0)
    made = http.HTTPFlow(client, connection.Server(address=None))
    headers = {"accept": "*/*"}
    if body:
        headers["content-type"] = "application/json"
    made.request = http.Request.make(method, url, body, headers)
    made.response = http.Response.make(200, reply, {"content-type": "application/json"})
    return made


addons = [Speed()]
