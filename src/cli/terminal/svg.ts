/** The door to Graphviz: an optional package, loaded on first use. */
import { EXIT, UserError } from '../../app/errors.ts';

/** The part of @hpcc-js/wasm-graphviz in use. */
export interface Graphviz {
  /** `json0`: positions and sizes, for a caller that draws by itself. */
  dot(source: string, format?: 'svg' | 'json0'): string;
}

/** Not a literal in the import: the program builds and runs without the package. */
const PACKAGE: string = '@hpcc-js/wasm-graphviz';

/** Lays a chart out as SVG. Throws a UserError where the package is not installed. */
export async function drawSvg(
  dot: string,
  load: () => Promise<Graphviz> = loadGraphviz,
  format: 'svg' | 'json0' = 'svg',
): Promise<string> {
  const graphviz = await load();
  return graphviz.dot(dot, format);
}

export async function loadGraphviz(): Promise<Graphviz> {
  let module: { readonly Graphviz: { load(): Promise<Graphviz> } };
  try {
    module = await import(PACKAGE);
  } catch (error) {
    if (!isMissing(error)) throw error;
    throw new UserError(
      `SVG needs the optional package ${PACKAGE}, which is not installed: run \`npm install ${PACKAGE}\`, or use --format mermaid, dot or xstate`,
      EXIT.usage,
      'configuration',
    );
  }
  return module.Graphviz.load();
}

/** The error code differs between ES modules and CommonJS; the built program is CommonJS. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(?:ERR_)?MODULE_NOT_FOUND$/.test(String(error.code));
}
