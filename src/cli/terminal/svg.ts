/** The door to Graphviz: an optional package, loaded when a drawing is asked for and not before. */
import { EXIT, UserError } from '../../app/errors.ts';

/** What is used of @hpcc-js/wasm-graphviz. */
export interface Graphviz {
  /** `json0`: places and sizes, for whoever draws by itself. */
  dot(source: string, format?: 'svg' | 'json0'): string;
}

/** Not spelled out in the import: whoever leaves the package out can still build and run everything else. */
const PACKAGE: string = '@hpcc-js/wasm-graphviz';

/** Lays a chart out as SVG. Ends the command with a sentence where the package is not installed. */
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
      `an SVG is drawn by the optional package ${PACKAGE}, which is not installed: \`npm install ${PACKAGE}\`, or --format mermaid, dot or xstate, which need nothing`,
      EXIT.usage,
      'configuration',
    );
  }
  return module.Graphviz.load();
}

/** Both module systems have a word for it; the built program is in the older one. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(?:ERR_)?MODULE_NOT_FOUND$/.test(String(error.code));
}
