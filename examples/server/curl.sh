#!/bin/sh
# curl.sh [URL]: a conversation over HTTP that goes on by its session, forks, and is read again.
url=${1:-http://127.0.0.1:8080}
post() { curl -sS "$url$1" -H 'Content-Type: application/json' -d "$2"; }
text() { sed -n 's/.*"text":"\([^"]*\)","finish".*/\1/p'; echo; }

post /api/v1/turns '{"session": "sums", "message": "Add 10 and 20"}' | text

# The same request with the same key is answered, not done again.
for attempt in 1 2; do
  curl -sS "$url/api/v1/turns" -H 'Content-Type: application/json' -H 'Idempotency-Key: order-17' \
    -d '{"session": "sums", "message": "Add 1 and 2"}' | text
done

# Another way from the first answer on: the first two turns have four messages each, and 0 to 3 are kept.
post /api/v1/sessions/sums/branches '{"id": "other", "from": "main", "at_index": 3}' > /dev/null
post /api/v1/turns '{"session": "sums", "branch": "other", "message": "Add 2 and 2"}' | text

# As it is said, event by event.
curl -sSN "$url/api/v1/turns" -H 'Content-Type: application/json' \
  -d '{"session": "sums", "branch": "main", "message": "Add 3 and 4", "stream": true}' | sed -n 's/^event: \(turn_.*\|outcome\)$/\1/p'

curl -sS "$url/api/v1/sessions/sums/messages?branch=other" | tr '{' '\n' | grep -c '"index"'
