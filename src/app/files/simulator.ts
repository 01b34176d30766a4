/** Reads a configuration of the simulated venue from YAML or JSON: markets, faults, surprises. */
import { makePrintable } from '../../base/printable.ts';
import { readSimulatorConfig, type SimulatorConfig } from '../../gateway/simulator/config/config.ts';
import { plainData, readDocument } from '../../runbook/document/document.ts';
import { UserError } from '../errors.ts';
import { readSource } from './files.ts';
import { refuseOtherKind } from './kinds.ts';

export function readSimulatorFile(path: string): SimulatorConfig {
  const source = readSource(path, 'simulator configuration');
  const { root, diagnostics } = readDocument(source);
  const named = `the simulator configuration ${makePrintable(path, 300)}`;
  const [first] = diagnostics;
  if (root === undefined || first !== undefined)
    throw new UserError(`${named} cannot be read: ${makePrintable(first?.message ?? 'it is empty', 400)}`);
  const read = readSimulatorConfig(plainData(root));
  if ('problems' in read) refuseOtherKind(source, 'simulator');
  if ('problems' in read)
    throw new UserError(`${named}: ${read.problems.map((each) => makePrintable(each, 300)).join('; ')}`);
  return read.config;
}
