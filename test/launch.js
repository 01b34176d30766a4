/** Bundles a program of the tests and runs it: `node test/launch.js simulation/night --seeds 1000`. Node 20 reads no TypeScript. */
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundleProgram } from './bundle.js';
import './closed-pipe.js';

const folder = dirname(fileURLToPath(import.meta.url));
const [name, ...words] = process.argv.slice(2);
process.chdir(join(folder, '..'));
const { file, remove } = await bundleProgram(join('test', `${name}.ts`));
process.on('exit', remove);
process.argv.splice(2, process.argv.length, ...words);
await import(pathToFileURL(file).href);
