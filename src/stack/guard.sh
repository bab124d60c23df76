#!/bin/sh
# Runs one server and stops it when the process that started it is gone, however that ended.
#
#   guard.sh <pid file> <program> <arguments…>
#
# Standard input is a pipe whose other end only the starting process holds: end of file means that it is dead.
# The server's process id goes to the pid file, then to descriptor 3. The shell itself starts the server, so
# there is no moment in which a server runs and nobody watches over it.

grace_seconds=30

pid_file=$1
shift

exec 4<&0 </dev/null
"$@" 3>&- 4<&- &
server=$!
echo "$server" >"$pid_file"
echo "$server" >&3
exec 3>&-

(
  read -r _ <&4
  kill -TERM "$server"
  kill -CONT "$server"
  waited=0
  while kill -0 "$server"; do
    [ "$waited" -ge "$grace_seconds" ] && kill -KILL "$server"
    sleep 1
    waited=$((waited + 1))
  done
) 2>/dev/null &
watcher=$!
exec 4<&-

wait "$server"
code=$?
kill "$watcher" 2>/dev/null
# Unless the next server's guard has written its own number there by now.
[ "$(cat "$pid_file" 2>/dev/null)" = "$server" ] && rm -f "$pid_file"
exit "$code"
