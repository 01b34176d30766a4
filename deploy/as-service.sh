#!/bin/sh
# Runs `runbook` with the service's user, state folder and secrets. For administration, as root:
#   perp-runbook audit show RUN
# docs/deployment.md installs it as /usr/local/bin/perp-runbook. With several workers it uses the state folder of the first:
#   RUNBOOK_STATE=/var/lib/perp-runbook/state-2 perp-runbook audit list
set -eu
user=perp-runbook
folder=/var/lib/perp-runbook
state=${RUNBOOK_STATE:-$folder/state}
if [ ! -d "$state" ] && [ -d "$folder/state-1" ]; then state=$folder/state-1; fi
[ -d "$folder" ] || install -d -m 0700 -o "$user" -g "$user" "$folder"

set -a
if [ -r /etc/perp-runbook/environment ]; then . /etc/perp-runbook/environment; fi
HOME=$folder
XDG_STATE_HOME=$folder
RUNBOOK_STATE=$state
set +a

cd "$folder"
exec runuser -u "$user" -- /usr/bin/runbook "$@"
