"""What schemathesis has to know of our HTTP that its description cannot say."""

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines(_context, value):
    """Artifacts and sessions are files: bytes as they are."""
    return value if isinstance(value, bytes) else str(value).encode()
