/**
 * Quick fixes: what a hint suggests, where it corrects the text. Each candidate is tried on the text, and offered only if the finding is gone
 * afterwards and no other has come.
 */
import type { Diagnostic, Span } from '../../base/diagnostic.ts';
import { type Analysis, analyse, type Load } from './analysis.ts';
import { applyEdits, type Edit } from './rename.ts';

export interface Fix {
  readonly title: string;
  readonly edit: Edit;
  readonly diagnostic: Diagnostic;
}

/** A hint has few suggestions; trying one is a check of the file. */
const MOST_TRIED = 6;

/** The fixes of the findings that touch a range of the text. */
export function listFixes(analysis: Analysis, start: number, end: number, load: Load): readonly Fix[] {
  return analysis.diagnostics
    .filter(({ span, source }) => source.file === analysis.source.file && span.start <= end && start <= span.end)
    .flatMap((diagnostic) =>
      listCandidates(diagnostic, analysis.source.text)
        .slice(0, MOST_TRIED)
        .filter((edit) => corrects(analysis, diagnostic, edit, load))
        .map((edit) => ({ title: `Write ${edit.text.trim()}`, edit, diagnostic })),
    );
}

function listCandidates({ hint = '', span }: Diagnostic, text: string): readonly Edit[] {
  const found: string[] = [];
  const [, meant] = /^Did you mean (.+)\?$/.exec(hint) ?? [];
  if (meant !== undefined) found.push(meant);
  for (const [, snippet = ''] of hint.matchAll(/`([^`…]+)`/g)) found.push(snippet);
  const [, units] = /^Write its unit: (.+)\.$/.exec(hint) ?? [];
  if (units !== undefined) found.push(...units.split(/, or |, | or /));
  const [, first] = /^Write (\S+)[.;]?(?: |$)/.exec(hint) ?? [];
  if (first !== undefined) found.push(first.replace(/[.;]$/, ''));
  const [, all] = /^Write (.+)\.$/.exec(hint) ?? [];
  if (all !== undefined) found.push(all);
  const distinct = [...new Set(found)];
  const old = text.slice(span.start, span.end);
  return [
    ...listQuoted(hint, span, text),
    ...distinct.flatMap((snippet): readonly Edit[] => {
      const whole = { span, text: snippet };
      // A snippet such as `size: "min(a, b)"` names the key that is in the text before the value.
      const [, key = '', value] = /^([A-Za-z_]\w*): ?(.+)$/.exec(snippet) ?? [];
      const inner =
        value !== undefined && text.slice(0, span.start).trimEnd().endsWith(`${key}:`) ? [{ span, text: value }] : [];
      const unquoted = /^'.*'$/.test(snippet) && !/^'/.test(old) ? [{ span, text: snippet.slice(1, -1) }] : [];
      return [...inner, ...unquoted, whole];
    }),
  ];
}

/** The value around a place, in the quotes that it lacks. */
function listQuoted(hint: string, { start, end }: Span, text: string): readonly Edit[] {
  const [, value = ''] = /^Put it in quotes: "(.+?)"\./.exec(hint) ?? [];
  const from = text.lastIndexOf(value, start);
  const isAround = value !== '' && from !== -1 && from + value.length >= end;
  return isAround ? [{ span: { start: from, end: from + value.length }, text: `"${value}"` }] : [];
}

function corrects(analysis: Analysis, diagnostic: Diagnostic, edit: Edit, load: Load): boolean {
  const text = applyEdits(analysis.source.text, [edit]);
  if (text === analysis.source.text) return false;
  const after = analyse({ ...analysis.source, text }, load);
  const key = ({ code, message }: Diagnostic) => `${code} ${message}`;
  const before = new Set(analysis.diagnostics.map(key));
  const left = after.diagnostics.filter((each) => key(each) === key(diagnostic)).length;
  const had = analysis.diagnostics.filter((each) => key(each) === key(diagnostic)).length;
  // A text that is not YAML hides all other findings.
  const isHidden = ({ code }: Diagnostic) => diagnostic.code === 'yaml-syntax' && !code.startsWith('yaml-');
  return (
    left < had &&
    after.diagnostics.every((each) => each.severity === 'warning' || before.has(key(each)) || isHidden(each))
  );
}
