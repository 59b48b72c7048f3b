"""Programs of a collection's parties (people's devices, shuffler, analyzer, relay), and their messages.

In reading order: `wire` (messages, keys, tokens: bytes in, values out, no network), `store` (durable files of all
parties), `http` (requests and answers of all parties), `issuer` (tokens for invited people), `service` (shuffler,
analyzer, and the client of people who answer), `client` (the browser as a device) and `relay` (members who walk reports
along a graph, without a shuffler).
"""
