/**
 * Parses an expression's text into its syntax tree. The only importer of the CEL parser, which is the only part of CEL in
 * use: our own code checks types and computes values, with one exact number type. Positions are those of the given text.
 */

import type { ASTNode } from '@marcbachmann/cel-js';
import { Environment, ParseError } from '@marcbachmann/cel-js';
import type { Span } from '../../base/diagnostic.ts';
import type { SyntaxCode } from '../codes/syntax.ts';
import { describeExpressionFault } from './expression-faults.ts';

export type SyntaxNode = ASTNode;

const MAX_LENGTH = 2000;
export const MAX_DEPTH = 64;

const parser = new Environment({
  enableOptionalTypes: true,
  limits: { maxDepth: MAX_DEPTH, maxAstNodes: 8000, maxListElements: 500, maxCallArguments: 32, maxMapEntries: 500 },
});

type Parsed =
  | { readonly tree: SyntaxNode }
  | { readonly code: SyntaxCode; readonly message: string; readonly hint?: string; readonly span: Span };

/** Parses one expression; returns every error, including those of the parser itself, as one finding. */
export function parseExpression(text: string): Parsed {
  if (text.length > MAX_LENGTH)
    return {
      code: 'expression-too-long',
      message: `the expression has ${text.length} characters; at most ${MAX_LENGTH} are read`,
      span: { start: 0, end: 0 },
    };
  if (text.trim() === '')
    return { code: 'expression-empty', message: 'the expression is empty', span: { start: 0, end: text.length } };
  try {
    return { tree: parser.parse(toCelChains(text)).ast };
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    const span = error.range ?? { start: 0, end: text.length };
    if (error.code === 'limit_exceeded')
      return {
        code: 'expression-too-deep',
        message: `the expression is too large: more than ${MAX_DEPTH} levels deep, or too many parts`,
        span,
      };
    if (error.code.startsWith('invalid_') && /number|integer|exponent/.test(error.code))
      return { code: 'number-form', message: 'the number is not a plain decimal', span };
    return { code: 'expression-syntax', ...describeExpressionFault(text, { summary: error.summary, span }) };
  }
}

/**
 * Rewrites the language's `taker?.filled` as CEL's `taker.?filled`. Swapping the two characters keeps every position. Quoted
 * texts are not changed.
 */
function toCelChains(text: string): string {
  if (!text.includes('?.')) return text;
  return text.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\?\.(?=[A-Za-z_])/gs, (part) =>
    part === '?.' ? '.?' : part,
  );
}

/** Words that CEL reserves: they cannot name a variable, a step or a loop variable, but they can name a field: `inputs.for`. */
export const RESERVED_WORDS: ReadonlySet<string> = new Set(
  'as break const continue else false for function if import in let loop namespace null package return true var void while'.split(
    ' ',
  ),
);
