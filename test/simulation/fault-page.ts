/** `node test/simulation/launch.js fault-page`: writes docs/fault-matrix.md. */
import { writeFileSync } from 'node:fs';
import { faultPage } from './fault-rows.ts';

writeFileSync('docs/fault-matrix.md', faultPage());
