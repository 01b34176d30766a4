/**
 * Splits texts with `${…}` into literal parts and expressions, each with its place in the text. `$${` stands for the
 * characters `${` themselves. Only quotes and brackets inside an expression are read, to find its end.
 */
type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  /** `start`: offset of the expression in the template, after `${`. */
  | { readonly kind: 'expression'; readonly text: string; readonly start: number };

interface Template {
  readonly parts: readonly TemplatePart[];
  /** Offset of an expression that is not closed. */
  readonly unclosed?: number;
}

export function splitTemplate(text: string): Template {
  const parts: TemplatePart[] = [];
  let literal = '';
  let at = 0;
  const flush = (): void => {
    if (literal !== '') parts.push({ kind: 'text', text: literal });
    literal = '';
  };
  while (at < text.length) {
    if (text.startsWith('$${', at)) {
      literal += '${';
      at += 3;
    } else if (text.startsWith('${', at)) {
      const end = findClosing(text, at + 2);
      if (end === undefined) return { parts, unclosed: at };
      flush();
      parts.push({ kind: 'expression', text: text.slice(at + 2, end), start: at + 2 });
      at = end + 1;
    } else {
      literal += text[at];
      at += 1;
    }
  }
  flush();
  return { parts };
}

/** Finds the `}` that ends an expression that begins at `from`; those in texts and inner brackets do not count. */
function findClosing(text: string, from: number): number | undefined {
  let open = 0;
  for (let at = from; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"' || character === "'") {
      for (at += 1; at < text.length && text[at] !== character; at += 1) if (text[at] === '\\') at += 1;
    } else if (character === '{') open += 1;
    else if (character === '}') {
      if (open === 0) return at;
      open -= 1;
    }
  }
  return undefined;
}
