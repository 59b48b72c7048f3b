"""Configuration files of nginx and Caddy before each party: TLS proxies that write nothing about requests.

They write nothing anywhere, neither logs nor bodies.
"""

from shuffledp.parties.kit.party_roles import PAGE, Parties, Role

_HEAD = """\
# nginx before the {name}. Who answers, and when, is written nowhere: there is no log, and bodies stay in memory.
server {{
    listen 443 ssl;
    listen [::]:443 ssl;
    server_name {host};

    ssl_certificate     /etc/letsencrypt/live/{host}/fullchain.pem;
    ssl_certificate_key /etc/letsencrypt/live/{host}/privkey.pem;
    ssl_protocols       TLSv1.3;
    ssl_session_tickets off;          # a ticket recognizes a device that comes back
    ssl_session_cache   off;

    access_log off;                   # it would hold addresses and times
    error_log  /dev/null crit;        # its lines name the client
    server_tokens off;

"""
_BUFFERED = """\
    client_max_body_size   {most};       # the limit of the service; larger ones are refused here
    client_body_timeout    30s;
    client_header_timeout  10s;
    keepalive_timeout      15s;
    proxy_request_buffering on;       # slow senders wait here and hold no place behind
    client_body_temp_path  /run/shuffledp-nginx;   # on a tmpfs: bodies of requests never reach a disk
    proxy_temp_path        /run/shuffledp-nginx-replies;

"""
_UNLIMITED = """\
    client_max_body_size    0;        # the service has a limit of its own; a million reports have some 60 MB
    client_body_timeout     60s;
    proxy_request_buffering off;      # the service checks who signed a batch before it reads on
    proxy_temp_path         /run/shuffledp-nginx-replies;

"""
_TO_SERVICE = """\
    location = /metrics { return 404; }   # counts over time are for the machine's own eyes
    location / {
        proxy_pass http://127.0.0.1:PORT;
        proxy_http_version 1.1;
        proxy_set_header Host $host;
        proxy_set_header Connection "";
        proxy_hide_header Server;     # and no X-Forwarded-For: the service behind never learns an address
    }
}
"""
_COMPRESSED = """\
    gzip on;                          # of pages alone, which have 110 kB, and 30 kB so

"""
_RELAY = """\
    location = /survey {
        if ($request_method = OPTIONS) {
            add_header Access-Control-Allow-Origin  "*";
            add_header Access-Control-Allow-Methods "POST";
            add_header Access-Control-Allow-Headers "content-type";
            add_header Access-Control-Max-Age       86400;
            return 204;
        }
        limit_except POST OPTIONS { deny all; }
        set $args "";                     # nor what stands behind a question mark
        proxy_pass GATEWAY;
        proxy_http_version 1.1;
        proxy_pass_request_headers off;   # no Origin, Referer, User-Agent, Cookie, nor anything else of a sender
        proxy_set_header Content-Type "message/ohttp-req";
        proxy_set_header Connection "";
        proxy_set_header Accept-Encoding "";
        proxy_ssl_server_name on;
        proxy_ssl_protocols TLSv1.2 TLSv1.3;   # as a client, some versions speak 1.2 at most unless told
        proxy_ssl_verify on;
        proxy_ssl_trusted_certificate /etc/ssl/certs/ca-certificates.crt;
        proxy_hide_header Access-Control-Allow-Origin;
        proxy_hide_header Server;
        proxy_intercept_errors off;
        add_header Access-Control-Allow-Origin "*" always;
        add_header Cache-Control "no-store" always;
    }
    location / { return 404; }
}
"""
_FILES = """\
    root /var/www/shuffledp;
    location = /PAGE {
        add_header Content-Security-Policy "frame-ancestors 'none'" always;
        add_header Cache-Control "no-store" always;
        add_header Referrer-Policy "no-referrer" always;
        add_header X-Content-Type-Options "nosniff" always;
        add_header Cross-Origin-Opener-Policy "same-origin" always;
        gzip on;
        gzip_types text/html;
    }
    location / { return 404; }
}
"""
_CADDY = """\
# Caddy before the {name}: certificates by itself. Nothing about a request is written: there is no log of any.
{{
	log {{
		exclude http
	}}
}}

{host} {{
{body}}}
"""
_CADDY_SERVICE = """\
	request_body {
		max_size MOST
	}
	respond /metrics 404
	reverse_proxy 127.0.0.1:PORT {
		header_up -X-Forwarded-*
	}
"""
_STRIPPED = (
    *("Origin", "Referer", "User-Agent", "Cookie", "X-Forwarded-*", "Forwarded", "Via", "DNT", "Priority"),
    *("Accept", "Accept-*", "Authorization", "Sec-*", "X-Real-Ip", "From", "Cache-Control", "Pragma"),
)
_CADDY_RELAY = """\
	@before {
		method OPTIONS
		path /survey
	}
	handle @before {
		header Access-Control-Allow-Origin *
		header Access-Control-Allow-Methods POST
		header Access-Control-Allow-Headers content-type
		header Access-Control-Max-Age 86400
		respond 204
	}
	@sealed {
		method POST
		path /survey
	}
	handle @sealed {
		request_body {
			max_size 1MiB
		}
		rewrite * /gateway?
		header Access-Control-Allow-Origin *
		header Cache-Control no-store
		reverse_proxy SHUFFLER {
			header_up Host {upstream_hostport}
STRIPPED
			header_down -Access-Control-Allow-Origin
			header_down -Server
		}
	}
	handle {
		respond 404
	}
"""
_CADDY_FILES = """\
	root * /var/www/shuffledp
	@page path /PAGE
	handle @page {
		header Content-Security-Policy "frame-ancestors 'none'"
		header Cache-Control no-store
		header Referrer-Policy no-referrer
		header X-Content-Type-Options nosniff
		header Cross-Origin-Opener-Policy same-origin
		encode gzip
		file_server
	}
	handle {
		respond 404
	}
"""


def nginx_of(role: Role, parties: Parties) -> str:
    """Configuration of nginx for a role: proxy of a service, the relay itself, or host of a page."""
    head = _HEAD.format(name=role.name.replace("-", " "), host=parties.hosts[role.name])
    if role.name == "page":
        return head + _FILES.replace("PAGE", PAGE)
    if role.name == "relay":
        buffered = _BUFFERED.format(most="1m ")
        return head + buffered + _RELAY.replace("GATEWAY", f"{parties.url(parties.main)}/gateway")
    limits = _UNLIMITED if role.name == "analyzer" else _BUFFERED.format(most="16m")
    limits += _COMPRESSED * (role.name == "mix")
    return head + limits + _TO_SERVICE.replace("PORT", str(role.port))


def caddyfile_of(role: Role, parties: Parties, *, before_service: bool = False) -> str:
    """Configuration of Caddy for a role: proxy of a service, the relay itself, or host of a page.

    With ``before_service``, the file of a relay is a proxy of its service, and not the relay itself.
    """
    if role.name == "page":
        body = _CADDY_FILES.replace("PAGE", PAGE)
    elif role.name == "relay" and not before_service:
        stripped = "\n".join(f"\t\t\theader_up -{name}" for name in _STRIPPED)
        body = _CADDY_RELAY.replace("SHUFFLER", parties.url(parties.main)).replace("STRIPPED", stripped)
    else:
        most = "1GB" if role.name == "analyzer" else "16MiB"
        body = _CADDY_SERVICE.replace("MOST", most).replace("PORT", str(role.port))
    return _CADDY.format(name=role.name.replace("-", " "), host=parties.hosts[role.name], body=body)
