"""Collections with tokens: their issuer, invitations, and tokens as devices have them."""

from functools import cache

from parties.service.given import Parties
from shuffledp.parties.wire.blind_rsa import blind_sign
from shuffledp.parties.wire.keys import IssuerKey
from shuffledp.parties.wire.tokens import PendingToken, TokenResponse
from shuffledp.survey import Service


@cache
def issuer_key(number=0):
    """An issuer's key; the same for the same number, since making one takes long."""
    return IssuerKey.generate()


class WithTokens(Parties):
    """Parties of a collection that takes tokens."""

    def __init__(self, asked=None, *, key=None, issuer="https://issuer.example", **further):
        self.issuer_key = key or issuer_key()
        plain = Parties()
        service = Service(url=issuer, key=plain.published(self.issuer_key))
        transport = {} if "relay" in further else {"transport": "token"}
        super().__init__(asked, issuer=service, **transport | further)

    def token(self, collection=None, *, by=None, nonce=None):
        """A token, by default a good one."""
        challenge, key = (collection or self.collection).challenge, by or self.issuer_key
        pending = PendingToken.new(challenge, key.public, nonce=nonce)
        signed = TokenResponse(blind_sign(key.private_key, pending.request.blinded_msg))
        return pending.finalize(challenge, key.public, signed)
