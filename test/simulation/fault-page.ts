/** `node test/launch.js simulation/fault-page`: writes docs/fault-matrix.md. */
import { writeFileSync } from 'node:fs';
import { faultPage } from './fault-rows.ts';

writeFileSync('docs/fault-matrix.md', faultPage());
