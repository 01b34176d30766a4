#!/usr/bin/env python3
"""Verifies journals without the program that wrote them (journal-format.md): verify.py [--anchors anchors.jsonl]... FILE...
FILE: an export as JSON lines, or a SQLite store. Exit code 0: all is as it was written; 1: something is not, and is named; 2: a file
cannot be read."""
import argparse, hashlib, json, pathlib, re, sqlite3, sys

def read(file, is_store):  # Each line with its hash and the columns that a store keeps beside it; accounts first, which name runs.
    for text in [] if is_store else filter(None, pathlib.Path(file).read_text(encoding='utf8').split('\n')):
        found = re.fullmatch(r'(\{.*),"hash":"([0-9a-f]{64})"\}', text)
        yield (found[1] + '}', found[2], {}) if found else (text, None, {})
    for table, names in {'account_act': 'account seq type', 'entries': 'run seq at type step'}.items() if is_store else []:
        store = sqlite3.connect(pathlib.Path(file).absolute().as_uri() + '?mode=ro', uri=True)
        if store.execute('SELECT 1 FROM sqlite_master WHERE name = ?', [table]).fetchone():
            for line, hashed, *values in store.execute(f'SELECT line, hash, {names.replace(" ", ", ")} FROM {table} ORDER BY 3, 4'):
                yield line, hashed, dict(zip(names.split(), values))

def verify(file, is_store, anchors, heads):  # What is wrong; `heads` gets the last number and hash of each chain.
    for line, hashed, columns in read(file, is_store):
        try:
            entry = json.loads(line)
            chain, seq, data, (count, prev) = entry['run'], entry['seq'], entry['data'], heads.get(entry['run'], (0, '0' * 64))
            follows = seq == count + 1 and entry['prev'] == prev and columns.items() <= entry.items()
            if 'account' in columns and entry['type'] in ['start.recorded', 'end.sealed']:
                anchors.setdefault(data['run'], {}).setdefault(data.get('entries', 1), set()).add(data['head'])
        except (ValueError, KeyError, TypeError, AttributeError):
            yield f'not an entry: {line[:80]!a}'
            continue
        if hashlib.sha256(('rbe-audit-v1\0' + line).encode()).hexdigest() != hashed:
            yield f'{chain!a}, entry {seq!a}: its text was changed'
        elif not follows or anchors.get(chain, {}).get(seq, {hashed}) != {hashed}:
            yield f'{chain!a}, entry {seq!a}: ' + ('its anchor, or its account, has another hash' if follows else f'it does not follow entry {count}')
        heads[chain] = (seq, hashed)
    for chain, named in anchors.items():  # An export has the runs that were asked for, a store has all that are not archived.
        if (is_store or chain in heads) and heads.get(chain, (0,))[0] < max(named):
            yield f'{chain!a}, entry {max(named)}: an anchor, or its account, names it, and it is missing'

def main(given, anchors, wrong=0):
    for text in [text for file in given.anchors for text in pathlib.Path(file).read_text(encoding='utf8').split('\n') if text]:
        if text.endswith('}'):  # Otherwise a crash cut it short.
            anchor = json.loads(text)
            anchors.setdefault(anchor['run'], {}).setdefault(anchor['seq'], set()).add(anchor['head'])
    for file in given.files:
        heads, is_store = {}, pathlib.Path(file).open('rb').read(15) == b'SQLite format 3'
        problems = list(verify(file, is_store, anchors, heads))
        wrong += len(problems)
        counts = f'{len(heads)} chains, {sum(seq for seq, _ in heads.values())} entries, {len(problems)} problems'
        print('\n'.join(f'{file}: {said}' for said in [*problems, counts]))
    return 1 if wrong else 0

parser = argparse.ArgumentParser()
parser.add_argument('--anchors', action='append', default=[])
parser.add_argument('files', nargs='+')
try:
    sys.exit(main(parser.parse_args(), {}))
except (OSError, ValueError, KeyError, TypeError, sqlite3.Error) as error:
    print(f'cannot be verified: {error!a}', file=sys.stderr)
    sys.exit(2)
