/**
 * Writes a notice as the body of a POST: the documented JSON, or what a chat service takes. A text comes from a runbook, the
 * venue or a file: in a chat it must neither address people, nor hide a link, nor format anything.
 */
import { sha256 } from '../../base/digest.ts';
import { escapeUnprintable } from '../../base/printable.ts';
import type { JsonObject } from '../../journal/entry.ts';
import type { NoticeSeverity, NoticeShape } from '../../venue/profile/setting-form.ts';

/** A message to people, and what it is about. */
export interface Notice {
  /** Name of the channel. */
  readonly to: string;
  readonly text: string;
  readonly severity: NoticeSeverity;
  readonly account: string;
  /** Epoch ms. */
  readonly at: number;
  readonly run?: string | undefined;
  readonly runbook?: string | undefined;
  /** Path of the step. */
  readonly step?: string | undefined;
  /** Address of the run on the review page. */
  readonly link?: string | undefined;
}

/** `chat`: where a service takes messages for many chats at one address. */
export function buildNoticeBody(notice: Notice, shape: NoticeShape = 'json', chat?: string): JsonObject {
  switch (shape) {
    case 'json':
      return describeNotice(notice);
    case 'slack':
      return { text: write(notice, 4000, escapeForSlack), mrkdwn: false, unfurl_links: false, unfurl_media: false };
    case 'mattermost':
      return { text: write(notice, 4000, escapeMarkdown) };
    case 'discord':
      // 4: no previews of links.
      return { content: write(notice, 2000, escapeMarkdown), allowed_mentions: { parse: [] }, flags: 4 };
    case 'telegram':
      // Without parse_mode nothing is markup.
      return {
        chat_id: chat ?? '',
        text: write(notice, 4096, (character) => character),
        link_preview_options: { is_disabled: true },
      };
    default:
      return shape satisfies never;
  }
}

function describeNotice({ at, text, ...notice }: Notice): JsonObject {
  const described = { ...notice, at: new Date(at).toISOString(), text: text.slice(0, 4000) };
  return JSON.parse(JSON.stringify({ id: sha256(JSON.stringify(described)).slice(0, 32), ...described })) as JsonObject;
}

/** A heading, the text, and the link, which is the profile's own and stays one; cut within the text. */
function write(notice: Notice, most: number, neutralise: (character: string) => string): string {
  const { severity, account, run, runbook, step, text, link } = notice;
  const about = [`account ${account}`, runbook, run === undefined ? undefined : `run ${run}`, step];
  const heading = `${severity}: ${about.filter((part) => part !== undefined && part !== '').join(' · ')}`;
  const end = link === undefined ? '' : `\n${link}`;
  let out = '';
  for (const character of `${heading}\n${text}`) {
    const shown =
      character === '@' ? `@${SEPARATOR}` : neutralise(character === '\n' ? character : escapeUnprintable(character));
    if (out.length + shown.length + end.length >= most) return `${out}…${end}`;
    out += shown;
  }
  return `${out}${end}`;
}

/** A space without width: behind it, a name is not the name of anybody to tell. */
const SEPARATOR = '\u200b';

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function escapeForSlack(character: string): string {
  return ENTITIES[character] ?? character;
}

function escapeMarkdown(character: string): string {
  return character.replace(/[\\`*_~|<>#[\]()]/g, '\\$&');
}
