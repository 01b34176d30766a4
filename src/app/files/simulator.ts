/** Reads a configuration of the simulated venue from YAML or JSON: markets, faults, surprises. Each problem has its place. */
import { type Diagnostic, findPosition, type SourceText, type Span } from '../../base/diagnostic.ts';
import { makePrintable } from '../../base/printable.ts';
import { readSimulatorConfig, type SimulatorConfig } from '../../gateway/simulator/config/config.ts';
import { makeFileFinding } from '../../runbook/codes/files.ts';
import { type Node, nodeAt, plainData, readDocument } from '../../runbook/document/document.ts';
import { UserError } from '../errors.ts';
import { readSource } from './files.ts';
import { refuseOtherKind } from './kinds.ts';

export function readSimulatorFile(path: string): SimulatorConfig {
  const source = readSource(path, 'simulator configuration');
  const { config, diagnostics } = readSimulatorSource(source);
  if (config !== undefined) return config;
  refuseOtherKind(source, 'simulator');
  const described = diagnostics.map(({ message, hint, span }) => {
    const { line, column } = findPosition(source.text, span.start);
    return `line ${line}, column ${column}: ${message}${hint?.startsWith('Did you mean') ? `; d${hint.slice(1)}` : ''}`;
  });
  throw new UserError(
    `the simulator configuration ${makePrintable(path, 300)}: ${described.join('; ') || 'it is empty'}`,
  );
}

/** The configuration, or what is wrong with it; neither where the text is empty. */
export function readSimulatorSource(source: SourceText): {
  readonly config?: SimulatorConfig;
  readonly diagnostics: readonly Diagnostic[];
} {
  const { root, diagnostics } = readDocument(source);
  if (root === undefined || diagnostics.length > 0) return { diagnostics };
  const read = readSimulatorConfig(plainData(root));
  if ('config' in read) return { config: read.config, diagnostics: [] };
  return {
    diagnostics: read.problems.map((problem) => {
      const { span, message, hint } = placeProblem(problem, [root]);
      return makeFileFinding(source, span, 'simulator-invalid', message, hint);
    }),
  };
}

/**
 * Where a problem is, in the last of the nodes that has the place, and the word that was probably meant. A problem begins with
 * the path of its value, as `markets.BTC-USD.tick: …`.
 */
export function placeProblem(
  problem: string,
  layers: readonly Node[],
): { readonly span: Span; readonly message: string; readonly hint?: string } {
  const [, where = '', key] = /^([^:]*): (?:"([^"]*)" is not a key)?/.exec(problem) ?? [];
  const steps = where === 'the configuration' ? [] : where.split('.');
  const path = key === undefined ? steps : [...steps, key];
  const hasPlace = (layer: Node) => nodeAt(layer, path).node !== nodeAt(layer, path.slice(0, -1)).node;
  const { span, keySpan } = nodeAt((layers.findLast(hasPlace) ?? layers.at(-1)) as Node, path);
  const [, message = problem, meant] = /^(.*); did you mean "([^"]*)"\?$/.exec(problem) ?? [];
  return {
    span: keySpan ?? span,
    message: makePrintable(message, 400),
    ...(meant === undefined ? {} : { hint: `Did you mean ${makePrintable(meant, 60)}?` }),
  };
}
