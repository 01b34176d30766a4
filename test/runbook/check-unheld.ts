/**
 * Checks a runbook of a test that certainly leaves more than it declares. The checker refuses it; the engine must hold a run to its
 * word all the same, so tests of the engine need it.
 */
import type { SourceText } from '../../src/base/diagnostic.ts';
import { sha256 } from '../../src/base/digest.ts';
import { checkRunbook } from '../../src/runbook/check.ts';
import type { CheckedRunbook } from '../../src/runbook/checked.ts';

type Load = (name: string) => SourceText | undefined;

const DECLARED = /^leaves: *\{position: *(\w+).*$/m;
/** Of a runbook itself, or of one that it calls. */
const OF_LEAVES: ReadonlySet<string> = new Set(['leaves-violated', 'called-runbook-invalid']);
const ANYTHING = 'leaves: {position: open, because: a test}';

/** As `checkRunbook`; a text is refused for `leaves-violated` only where it has other errors as well. */
export function checkUnheld(source: SourceText, load: Load): ReturnType<typeof checkRunbook> {
  const first = checkRunbook(source, load);
  const hasOthers = first.diagnostics.some(({ severity, code }) => severity === 'error' && !OF_LEAVES.has(code));
  if (first.runbook !== undefined || hasOthers) return first;
  const { runbook, diagnostics } = checkRunbook(loosen(source), (name) => {
    const called = load(name);
    return called && loosen(called);
  });
  return runbook === undefined ? first : { ...first, runbook: restore(runbook, source, load), diagnostics };
}

function loosen({ file, text }: SourceText): SourceText {
  return { file, text: DECLARED.test(text) ? text.replace(DECLARED, ANYTHING) : `${text.trimEnd()}\n${ANYTHING}\n` };
}

/** The runbook with its own text and declaration, and so those that it calls. */
function restore(runbook: CheckedRunbook, source: SourceText, load: Load): CheckedRunbook {
  const position = DECLARED.exec(source.text)?.[1];
  const calls = Object.entries(runbook.calls).map(([name, called]) => {
    const text = load(name);
    return [name, text === undefined ? called : restore(called, text, load)] as const;
  });
  return {
    ...runbook,
    source,
    sha256: sha256(source.text),
    leaves: position === 'open' || position === 'none' ? { position } : { position: 'protected' },
    calls: Object.fromEntries(calls),
  };
}
