/** Sends a run's notifications live, to the webhooks and the log that the profile names. Never awaited, never fatal. */
import { makePrintable } from '../../base/printable.ts';
import type { Notifier } from '../../engine/ports.ts';
import { postNotice } from '../../gateway/live/webhook.ts';
import type { Voice } from '../voice.ts';
import type { Account } from './account.ts';

/** Target of the program's own alarms, where the profile names it. */
export const OPERATORS = 'ops';

export function makeNotifier({ profile, secrets }: Pick<Account, 'profile' | 'secrets'>, voice: Voice): Notifier {
  return {
    send(to, text) {
      const target = Object.hasOwn(profile.notify, to) ? profile.notify[to] : undefined;
      const shown = makePrintable(text, 1000);
      if (target === undefined)
        voice.note(`notice to ${makePrintable(to, 60)}, which the profile does not name: ${shown}`);
      else if ('log' in target) voice.note(`notice to ${makePrintable(to, 60)}: ${shown}`);
      const webhook = secrets.webhooks[to];
      if (webhook !== undefined) {
        void postNotice(webhook, { to, text }).then((problem) => {
          if (problem !== undefined)
            voice.complain(`the notice to ${makePrintable(to, 60)} was not delivered: ${problem}`);
        });
      }
    },
  };
}

/** Reports what a run cannot settle by itself, on the terminal, and to `ops` where the profile names it. */
export function reportAlarm(
  { account, voice }: { readonly account: Pick<Account, 'profile' | 'secrets'>; readonly voice: Voice },
  text: string,
): void {
  voice.complain(text);
  if (Object.hasOwn(account.profile.notify, OPERATORS)) makeNotifier(account, voice).send(OPERATORS, text);
}
