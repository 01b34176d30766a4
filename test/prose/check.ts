/** Looks for the words of words.ts in everything that git tracks and people read: `node test/launch.js prose/check`. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { findWords } from './find.ts';

/** Not written by hand, recorded by an earlier version, or lists of the very words. */
const LEFT_OUT =
  /^(?:package-lock\.json|bench\/package-lock\.json|bench\/latest\.json|test\/golden\/journals\/|test\/prose)/;
/** Files that must name the words of version 1: its journals, and the keys of the token ledger that it saved. */
const NAMES_OF_V1 =
  /^(?:CHANGELOG\.md|src\/journal\/entry-v1\.ts|src\/venue\/tokens\/(?:in-flight|ledger)\.ts|src\/gateway\/tokens\/budget\.ts|test\/gateway\/budget\.test\.ts|test\/venue\/token-ledger\.test\.ts)$/;
const READ = /\.(?:ts|js|cjs|css|md|ya?ml|json|txt|sh)$/;

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => READ.test(file) && !LEFT_OUT.test(file) && !NAMES_OF_V1.test(file) && existsSync(file));
const findings = files.flatMap((file) => findWords(file, readFileSync(file, 'utf8')));
for (const { file, line, found, say } of findings) console.log(`${file}:${line}: "${found}": say ${say}`);
console.log(`${files.length} files, ${findings.length} findings`);
process.exitCode = findings.length === 0 ? 0 : 1;
