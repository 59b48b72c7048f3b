"""Token of a device: requested once, and kept until it is spent.

If the issuer's answer is lost, the device repeats the request in the same bytes.

The request is written down before it is sent to the issuer: an invitation is good for that request alone.
"""

from pathlib import Path

import httpx

from shuffledp.core.errors import LocalProtocolError, MalformedMessageError, RemoteProtocolError
from shuffledp.parties.issuer.invitations import Invitation
from shuffledp.parties.service.client import answer_to, try_way
from shuffledp.parties.store.private_files import write_private
from shuffledp.parties.wire.tokens import ISSUANCE_REQUEST, PendingToken, Token, TokenResponse
from shuffledp.survey import Collection


class DeviceToken:
    """Token of one device for one collection.

    Args:
        collection: collection with an issuer.
        folder: existing folder of the device's state.
        host: number of the shuffler that the token is for, from 0: each of several has a token of its own.
    """

    def __init__(self, collection: Collection, folder: Path, *, host: int = 0) -> None:
        name = f"{collection.id.hex()}{f'.host-{host}' if host else ''}"
        self._collection, self._host, self._challenge = collection, host, collection.challenge_at(host)
        self._asked, self._token = (folder / f"{name}.{end}" for end in ("token-request", "token"))

    def get(
        self, invitation: Invitation | None, client: httpx.Client, *, patience: float, to: httpx.Client | None = None
    ) -> Token:
        """Stored token of the device, or a new token for the invitation.

        Args:
            invitation: invitation of this person; None where a token is kept already.
            client: client for the issuer, not through a relay.
            patience: seconds for which requests without an answer are repeated.
            to: client for the shuffler, which is tried first; None uses the invitation without a try.

        Raises:
            LocalProtocolError: if there is neither token nor invitation.
            RemoteProtocolError: if the issuer does not sign (the request is kept), or if the shuffler is
                not reached (the invitation stays unused).
        """
        if self._token.exists():
            return Token.decode(self._token.read_bytes())
        if invitation is None:
            raise LocalProtocolError("--invitation must be given: people answer this collection by invitation alone.")
        if to is not None and invitation.token is None:
            try_way(self._collection, to, patience=patience, host=self._host)
        token = invitation.ready_token() or self._signed(invitation, client, patience)
        write_private(self._token, token.encode())
        self._asked.unlink(missing_ok=True)
        return token

    def spent(self) -> None:
        """Forget the token, which is no longer needed."""
        for each in (self._asked, self._token):
            each.unlink(missing_ok=True)

    def _signed(self, invitation: Invitation, client: httpx.Client, patience: float) -> Token:
        collection, issuer = self._collection, self._collection.issuer
        if issuer is None:
            raise LocalProtocolError("a collection must have an issuer to have tokens; this one has none.")
        if not self._asked.exists():
            write_private(self._asked, PendingToken.new(self._challenge, issuer.key.public).encode())
        pending = PendingToken.decode(self._asked.read_bytes())
        url, bearer = f"{issuer.url}{collection.path}/token-request", f"Bearer {invitation.code}"
        body = pending.request.encode()
        answer = answer_to(client, "POST", url, patience, body=body, media_type=ISSUANCE_REQUEST, authorization=bearer)
        try:
            return pending.finalize(self._challenge, issuer.key.public, TokenResponse.decode(answer.content))
        except MalformedMessageError:
            raise RemoteProtocolError(f"the issuer must answer as the protocol says; {issuer.url} did not.") from None
