/**
 * The scripts and styles of the review page, read from their files. The build puts the texts themselves in the place of this
 * module, so that the built program needs no file but its own.
 */
import { pageAssets } from './page-assets.ts';

/** By file name. */
export const ASSETS = pageAssets(new URL('../../report/page/assets/', import.meta.url));
