"""Verifies journals without the program that wrote them (journal-format.md): verify.py [--anchors anchors.jsonl]... FILE...
FILE: an export, or a SQLite store. Exit code 0: all is as it was written; 1: something is not, and is named; 2: a file cannot be read."""
import argparse, collections, contextlib, hashlib, json, pathlib, re, sqlite3, sys

def read(file, is_store):  # Each line with its hash and the columns that a store keeps beside it; accounts first, which name runs.
    for text in [] if is_store else filter(None, pathlib.Path(file).read_text(encoding='utf8').split('\n')):
        found = re.fullmatch(r'(\{.*),"hash":"([0-9a-f]{64})"\}', text)
        yield (found[1] + '}', found[2], {}) if found else (text, None, {})
    store = sqlite3.connect(pathlib.Path(file).absolute().as_uri() + '?mode=ro' if is_store else ':memory:', uri=True)
    store.row_factory = sqlite3.Row
    for [table] in store.execute("SELECT name FROM sqlite_master WHERE name IN ('account_act', 'entries') ORDER BY 1").fetchall():
        yield from ((row['line'], row['hash'], dict(row)) for row in store.execute(f'SELECT * FROM {table} ORDER BY 1, 2'))

parser, named, problems = argparse.ArgumentParser(), collections.defaultdict(lambda: collections.defaultdict(set)), []
parser.add_argument('--anchors', action='append', default=[])
parser.add_argument('files', nargs='+')
given = parser.parse_args()
try:
    for anchor in [json.loads(text) for file in given.anchors for text in open(file, encoding='utf8') if text.rstrip().endswith('}')]:
        named[anchor['run']][anchor['seq']].add(anchor['head'])  # A line that does not end so was cut short by a crash.
    for file in given.files:  # `heads`: of each chain the number and hash of its last line. An export need not have every run.
        heads, is_store = {}, pathlib.Path(file).open('rb').read(15) == b'SQLite format 3'
        for line, hashed, columns in read(file, is_store):
            checks = {f'not an entry: {line[:80]!a}': False}
            with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
                entry = {**json.loads(line), 'line': line, 'hash': hashed}
                chain, seq, (count, prev) = entry['run'], entry['seq'], heads.get(entry['run'], (0, '0' * 64))
                if 'account' in columns and entry['type'] in ('start.recorded', 'end.sealed'):
                    named[entry['data']['run']][entry['data'].get('entries', 1)].add(entry['data']['head'])
                checks = {'its text was changed': hashlib.sha256(('rbe-audit-v1\0' + line).encode()).hexdigest() == hashed,
                          f'it does not follow entry {count}': (seq, entry['prev'], {**entry, **columns}) == (count + 1, prev, entry),
                          'its anchor, or its account, has another hash': named.get(chain, {}).get(seq, {hashed}) == {hashed}}
                checks, heads[chain] = {f'{chain!a}, entry {seq!a}: {said}': holds for said, holds in checks.items()}, (seq, hashed)
            problems += [f'{file}: {said}' for said, holds in checks.items() if not holds]
        print(f'{file}: {len(heads)} chains, {sum(seq for seq, _ in heads.values())} entries')
        problems += [f'{file}: {chain!a}, entry {max(at)}: an anchor, or its account, names it, and it is missing'
                     for chain, at in named.items() if (is_store or chain in heads) and heads.get(chain, (0,))[0] < max(at)]
except (OSError, ValueError, KeyError, TypeError, sqlite3.Error) as error:
    parser.error(f'cannot be verified: {error!a}')
sys.exit('\n'.join(problems) or 0)
