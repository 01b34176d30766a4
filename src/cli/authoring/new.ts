/** `runbook new`: creates a runbook, the smallest one or a copy of one that ships, with its tests, a simulated venue and its profile. */
import { existsSync } from 'node:fs';
import { EXIT, type ExitCode, UserError } from '../../app/errors.ts';
import { writeNewText } from '../../app/files/files.ts';
import { type Copied, copyShipped } from '../../app/project/library.ts';
import { ensureSchema } from '../../app/project/schema-line.ts';
import { makeFirstStarter, makeProfile, type PROJECT_SCHEMAS } from '../../app/project/template.ts';
import { makePrintable, quoteWord } from '../../base/printable.ts';
import { formatDocument } from '../../runbook/document/format.ts';
import type { Given } from '../actions/actions.ts';
import type { Invocation } from '../invocation.ts';

const NAME = /^[a-z][a-z0-9-]{0,62}$/;

type Schema = (typeof PROJECT_SCHEMAS)[number];

export async function createRunbook({ name, from }: Given<'new'>, { terminal }: Invocation): Promise<ExitCode> {
  if (!NAME.test(name)) {
    throw new UserError(
      `a runbook's name is lower-case letters, digits and dashes, at most 63, a letter first; found ${makePrintable(name, 100)}`,
    );
  }
  const { own, called, inputs } = makeNewFiles(name, from);
  const taken = Object.keys(own).find((file) => existsSync(file));
  if (taken !== undefined) throw new UserError(`${taken} exists already; nothing was written or changed`);
  // A runbook that is called may serve others here already, and stays as it is.
  const missing = Object.entries(called).filter(([file]) => !existsSync(file));
  const files = [...Object.entries(own), ...missing];
  const schemas = new Set<string>();
  for (const [file, { schema, text }] of files) {
    const { line, created } = ensureSchema(file, schema);
    if (created !== undefined) schemas.add(created);
    writeNewText(file, line + text, schema);
  }
  const written = [...schemas, ...files.map(([file]) => file)];
  const [schema] = schemas;
  terminal.answer(
    { file: `${name}.yaml`, from: from ?? null, files: written, ...(schema !== undefined && { schema }) },
    () =>
      [
        ...written.map((file) => `${file}: created${schemas.has(file) ? ', for editors' : ''}`),
        'Next:',
        `  runbook validate ${name}.yaml`,
        `  runbook test ${name}.test.yaml`,
        `  runbook dry-run ${name}.yaml --simulator ${name}.sim.yaml${inputs.map((pair) => ` --input ${quoteWord(pair)}`).join('')}`,
      ].join('\n'),
  );
  return EXIT.done;
}

export interface NewFile {
  readonly schema: Schema;
  readonly text: string;
}

/** The files of a new runbook, by name and without the line of their schema, and those of the runbooks that it calls. */
export function makeNewFiles(
  name: string,
  from: string | undefined,
): {
  readonly own: Readonly<Record<string, NewFile>>;
  readonly called: Readonly<Record<string, NewFile>>;
  /** Of a dry-run, in the form of `--input`. */
  readonly inputs: readonly string[];
} {
  const starter: Copied =
    from === undefined ? { ...makeFirstStarter(name), called: {}, inputs: [] } : copyShipped(from, name);
  return {
    own: {
      [`${name}.yaml`]: layOut('runbook', starter.runbook),
      [`${name}.test.yaml`]: layOut('runbook-test', starter.tests),
      [`${name}.sim.yaml`]: layOut('simulator', starter.simulator),
      [`${name}.profile.yaml`]: layOut('profile', makeProfile('.runbook')),
    },
    called: Object.fromEntries(
      Object.entries(starter.called).map(([each, text]) => [`${each}.yaml`, layOut('runbook', text)]),
    ),
    inputs: starter.inputs,
  };
}

/** As `runbook fmt` does, so that the pipeline of a project accepts what `new` writes. */
function layOut(schema: Schema, text: string): NewFile {
  const done = formatDocument({ file: schema, text });
  return { schema, text: 'text' in done ? done.text : text };
}
