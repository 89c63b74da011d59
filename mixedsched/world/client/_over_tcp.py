"""A request over TCP and TLS."""

import hashlib
import http.client
import ssl
import time

from cryptography import x509

from mixedsched.world.client._answer import (
    BODY_MOST_BYTES,
    FIELDS,
    TIMEOUT_S,
    HttpsAnswer,
    HttpsPage,
    RefusedError,
    joined_fields,
)


def ask_over_tcp(target: HttpsPage) -> HttpsAnswer:
    """GET it by HTTP/1.1, without following redirects. Raises RefusedError if there is no answer."""
    context = ssl.create_default_context(cafile=None if target.trusted is None else str(target.trusted))
    connection = http.client.HTTPSConnection(target.host, target.port, timeout=TIMEOUT_S, context=context)
    began_s = time.monotonic()
    try:
        connection.connect()
        connected_ms = (time.monotonic() - began_s) * 1000
        shown = connection.sock.getpeercert(binary_form=True)
        connection.request("GET", target.path, headers=FIELDS)
        response = connection.getresponse()
        body = response.read(BODY_MOST_BYTES)
    except ssl.SSLCertVerificationError as error:
        raise RefusedError("its certificate is not trusted", why=error.verify_message, is_certificate=True) from error
    except (OSError, http.client.HTTPException) as error:
        raise RefusedError(f"no answer from {target.authority}", why=_reason(error)) from error
    finally:
        connection.close()
    return HttpsAnswer(
        response.status,
        joined_fields(response.getheaders()),
        len(body),
        hashlib.sha256(body).hexdigest(),
        connected_ms,
        x509.load_der_x509_certificate(shown) if shown else None,
    )


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"nothing came within {TIMEOUT_S:.0f} s"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
