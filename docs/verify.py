#!/usr/bin/env python3
"""Verifies journals without the program that wrote them (journal-format.md). Python 3.8 or newer, its standard library alone.

    verify.py [--anchors anchors.jsonl]... FILE...        FILE: an export as JSON lines, or a SQLite store

Exit code 0: all is as it was written. 1: something is not, and is named. 2: a file cannot be read.
"""
import argparse, hashlib, json, pathlib, re, sqlite3, sys

# The journals of accounts first: they name the starts and ends of runs.
TABLES = {'account_act': ['account', 'seq', 'type'], 'entries': ['run', 'seq', 'at', 'type', 'step']}
ENDS = ['start.recorded', 'end.sealed']


def read_export(file):
    """Gives each line with its hash, and the columns that a store keeps beside it: none."""
    for text in filter(None, pathlib.Path(file).read_text(encoding='utf8').split('\n')):
        found = re.fullmatch(r'(\{.*),"hash":"([0-9a-f]{64})"\}', text)
        yield (found[1] + '}', found[2], {}) if found else (text, None, {})


def read_store(file):
    store = sqlite3.connect(pathlib.Path(file).absolute().as_uri() + '?mode=ro', uri=True)
    for table, names in TABLES.items():
        if store.execute('SELECT 1 FROM sqlite_master WHERE name = ?', [table]).fetchone():
            for line, hashed, *values in store.execute(f'SELECT line, hash, {", ".join(names)} FROM {table} ORDER BY {names[0]}, seq'):
                yield line, hashed, dict(zip(names, values))


def verify(file, anchors):
    """Gives what is wrong with a file, and the last number of each chain in it."""
    problems, heads = [], {}
    is_store = pathlib.Path(file).open('rb').read(15) == b'SQLite format 3'
    for line, hashed, columns in (read_store if is_store else read_export)(file):
        try:
            entry = json.loads(line)
            chain, seq, data = entry['run'], entry['seq'], entry['data']
            if 'account' in columns and entry['type'] in ENDS:
                anchors.setdefault(data['run'], {}).setdefault(data.get('entries', 1), set()).add(data['head'])
        except (ValueError, KeyError, TypeError, AttributeError):
            problems.append(f'not an entry: {line[:80]!a}')
            continue
        count, prev = heads.get(chain, (0, '0' * 64))
        sound = hashlib.sha256(('rbe-audit-v1\0' + line).encode()).hexdigest() == hashed
        follows = seq == count + 1 and entry['prev'] == prev and columns.items() <= entry.items()
        anchored = anchors.get(chain, {}).get(seq, {hashed}) == {hashed}
        if not (sound and follows and anchored):
            why = 'its text was changed' if not sound else 'its anchor, or its account, has another hash' if follows else f'it does not follow entry {count}'
            problems.append(f'{chain!a}, entry {seq!a}: {why}')
        heads[chain] = (seq, hashed)
    for chain, named in anchors.items():  # An export has the runs that were asked for, a store has all that are not archived.
        if (is_store or chain in heads) and heads.get(chain, (0,))[0] < max(named):
            problems.append(f'{chain!a}, entry {max(named)}: an anchor, or its account, names it, and it is missing')
    return problems, heads


def main(given, anchors, failed=False):
    for file in given.anchors:
        for text in filter(None, pathlib.Path(file).read_text(encoding='utf8').split('\n')):
            if not text.endswith('}'):
                print(f'{file}: a crash cut an anchor short: {text[:80]!a}')
                continue
            anchor = json.loads(text)
            anchors.setdefault(anchor['run'], {}).setdefault(anchor['seq'], set()).add(anchor['head'])
    for file in given.files:
        problems, heads = verify(file, anchors)
        print(*(f'{file}: {problem}' for problem in problems), sep='\n', end='\n' if problems else '')
        print(f'{file}: {len(heads)} chains, {sum(head[0] for head in heads.values())} entries, {len(problems)} problems')
        failed = failed or bool(problems)
    return 1 if failed else 0


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--anchors', action='append', default=[])
    parser.add_argument('files', nargs='+')
    try:
        sys.exit(main(parser.parse_args(), {}))
    except (OSError, ValueError, KeyError, TypeError, sqlite3.Error) as error:
        print(f'cannot be verified: {error!a}', file=sys.stderr)
        sys.exit(2)
