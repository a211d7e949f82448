#!/bin/sh
# install.sh BIN WORDS...: has uv install WORDS (requirements, --requirement FILE) into the environment of BIN, in the
# versions of requirements.lock. It takes a twentieth of pip's time on processors. Of pip's settings it is told those
# without which nobody behind a mirror gets a package: the index and the certificates.

bin=$1
shift
of_pip() { "$bin/python" -m pip config get "global.$1" 2>/dev/null || "$bin/python" -m pip config get "user.$1" 2>/dev/null; }
index=${UV_DEFAULT_INDEX:-${PIP_INDEX_URL:-$(of_pip index-url)}}
certificates=${SSL_CERT_FILE:-${PIP_CERT:-$(of_pip cert)}}
[ -z "$index" ] || export UV_DEFAULT_INDEX="$index"
[ -z "$certificates" ] || export SSL_CERT_FILE="$certificates"
# A network that fails for a while is not a failure.
export UV_HTTP_RETRIES=10 UV_HTTP_TIMEOUT=60
exec "$bin/uv" pip install --quiet --python "$bin/python" --constraint "$(dirname "$0")/../requirements.lock" "$@"
