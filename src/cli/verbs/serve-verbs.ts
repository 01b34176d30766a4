/** The row of the verb table for the review page. */
import { type VerbRow, verb } from './verb.ts';

export const SERVE_VERBS: readonly VerbRow[] = [
  verb({
    name: 'audit serve',
    summary: 'show the runs on a page in the browser, on 127.0.0.1 alone',
    arguments: {},
    options: {
      port: { doc: 'port, 8787 by default; 0 takes a free one', value: 'N' },
      'allow-actions': { doc: 'let the page approve, reject, stop and kill, each with a typed confirmation' },
    },
    example: 'audit serve --port 8787',
    async run(_args, options, invocation) {
      const { port, 'allow-actions': allowActions } = options;
      return (await import('../serve/serve.ts')).serveAudit({ port, allowActions }, invocation);
    },
  }),
];
