/**
 * Gives the build what it needs from the sources: schemas to compile, the page's assets, and every generated file. Bundled and
 * run by build.js; not a part of the program itself.
 */
import { makeReferencePages } from './reference.ts';
import { SCHEMAS } from './schemas.ts';

export { AJV_OPTIONS } from '../../base/ajv.ts';
export { readPageAssets as pageAssets } from '../serve/page-assets.ts';
export { SCHEMAS } from './schemas.ts';

/** Every generated file that is checked in: path from the root of the project to its text. */
export function generatedFiles(): Readonly<Record<string, string>> {
  const schemas = SCHEMAS.map(({ name, schema, published = schema }) => [
    `schemas/${name}.schema.json`,
    `${JSON.stringify(published, null, 2)}\n`,
  ]);
  const pages = Object.entries(makeReferencePages()).map(([name, text]) => [`docs/reference/${name}.md`, text]);
  return Object.fromEntries([...schemas, ...pages]);
}
