/**
 * Reads the scripts and styles of the review page. The build replaces this module with their texts, so that the built program
 * needs no other file.
 */
import { readPageAssets } from './page-assets.ts';

/** By file name. */
export const ASSETS = readPageAssets(new URL('../../report/page/assets/', import.meta.url));
