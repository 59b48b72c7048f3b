"""HTTP servers and clients that all parties share, whatever their role.

In reading order: `event_log` (all that is ever logged), `http_messages` (bodies within limits, and error answers of one
length), `readiness` (whether there is room to store), `web_pages` (pages for people who answer); `connections` and
`http_parsers` (limits that hold while others misbehave), `certificates`, `serving` (applications at their addresses).

For whoever asks a service: `oblivious_transport` (through a relay), `bounded_answers` (of hosts that may send without
end) and `pauses` (between attempts).
"""
