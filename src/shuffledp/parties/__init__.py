"""Programs of a collection's parties (people's devices, shuffler, analyzer, relay), and their messages.

In reading order: `wire` (messages, keys, tokens: bytes in, values out, no network), `store` (durable files of all
parties), `http` (requests and answers of all parties), `issuer` (tokens for invited people), `service` (shuffler,
analyzer, and the client of people who answer), `client` (the browser as a device). Then `agreement` (hosts of one sum),
`mix` (a host that shuffles other people's collections), `organizer` (surveys by one command), `kit` (a folder for each
party's machine) and `relay` (members who walk reports along a graph, without a shuffler).
"""
