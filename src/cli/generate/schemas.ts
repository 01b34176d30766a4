/**
 * Lists the JSON Schemas of this program: published in `schemas/` for editors and other programs, and compiled by the build
 * where the program itself checks values against one. The built program knows no other schema.
 */

import { makeTestFileSchema, TEST_FILE_SCHEMA_NAME } from '../../app/testing/file/schema.ts';
import { FIXTURE_SCHEMA_NAME, fixtureSchema } from '../../gateway/fixture/schema.ts';
import { SIMULATOR_SCHEMA } from '../../gateway/simulator/config/schema.ts';
import { buildEditorSchema } from '../../runbook/editor-schema.ts';
import { buildRunbookSchema } from '../../runbook/schema.ts';
import { buildProfileSchema, PROFILE_SCHEMA_NAME } from '../../venue/profile/schema.ts';

interface BundledSchema {
  /** The file is `schemas/NAME.schema.json`; `schemaIssues` is called with this name. */
  readonly name: string;
  readonly schema: object;
  /** What editors get instead, where it differs; it refuses nothing that the program accepts. */
  readonly published?: object;
  /** Whether this program checks values against it; the others are only for editors. */
  readonly checked: boolean;
}

export const SCHEMAS: readonly BundledSchema[] = [
  { name: 'runbook', schema: buildRunbookSchema(), published: buildEditorSchema(), checked: true },
  // Profiles are checked with the table of their settings, from which this schema is made.
  { name: PROFILE_SCHEMA_NAME, schema: buildProfileSchema(), checked: false },
  { name: 'simulator', schema: SIMULATOR_SCHEMA, checked: true },
  { name: FIXTURE_SCHEMA_NAME, schema: fixtureSchema(), checked: true },
  { name: TEST_FILE_SCHEMA_NAME, schema: makeTestFileSchema(), checked: true },
];
