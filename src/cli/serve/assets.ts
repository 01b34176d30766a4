/**
 * The scripts and styles of the review page, read from their files beside the report. The build puts the texts themselves in
 * the place of this module, so that the built program needs no file but its own.
 */
import { readdirSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../../report/page/assets/', import.meta.url);

/** By file name. */
export const ASSETS: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(FOLDER)
    .filter((name) => /\.(?:js|css|svg)$/.test(name))
    .map((name) => [name, readFileSync(new URL(name, FOLDER), 'utf8')]),
);
