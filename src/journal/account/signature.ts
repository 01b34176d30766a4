/**
 * Signs an act with the Ed25519 key of a person, and verifies it. The signature covers the account and everything that the act says but
 * the signature itself; the chain covers its place. A public key is written as OpenSSH does (`ssh-ed25519 …`), or as the base64 of
 * its DER form, which is the middle line of a PEM file. A signature is that of the text alone, or what `ssh-keygen -Y sign` makes of it
 * (OpenSSH's PROTOCOL.sshsig).
 */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { ActSignature, NewAct, Who } from './acts.ts';

/** The bytes before the 32 of a key, in its DER form and in that of OpenSSH. */
const DER_START = Buffer.from('302a300506032b6570032100', 'hex');
const SSH_START = Buffer.from('0000000b7373682d6564323535313900000020', 'hex');

/** Reads a public key; undefined where it is not one of Ed25519 in a form above. */
export function readPublicKey(text: string): KeyObject | undefined {
  const encoded = /^(?:ssh-ed25519 )?([A-Za-z0-9+/]+=*)(?: |$)/.exec(text.trim())?.[1] ?? '';
  const bytes = Buffer.from(encoded, 'base64');
  const start = [DER_START, SSH_START].find((each) => bytes.subarray(0, each.length).equals(each));
  const raw = bytes.subarray(start?.length ?? 0);
  if (start === undefined || raw.length !== 32) return undefined;
  return createPublicKey({ key: Buffer.concat([DER_START, raw]), format: 'der', type: 'spki' });
}

/** Whether two texts are the same public key, however they write it. */
export function isSameKey(one: string, other: string): boolean {
  const [first, second] = [readPublicKey(one), readPublicKey(other)];
  return first !== undefined && second !== undefined && writePublicKey(first) === writePublicKey(second);
}

function writePublicKey(key: KeyObject): string {
  return key.export({ format: 'der', type: 'spki' }).toString('base64');
}

/**
 * The act with its signature. `by`: an Ed25519 private key as PEM, or what gives the signature of `ssh-keygen -Y sign` for a text.
 * Throws an Error for any other text.
 */
export function signAct(account: string, act: NewAct, by: string | ((text: Buffer) => string)): NewAct {
  const who: Who | undefined = act.data.who && { ...act.data.who, how: 'signed' };
  const named = { ...act, data: { ...act.data, ...(who === undefined ? {} : { who }) } } as NewAct;
  const text = composeText(account, named);
  const signature = typeof by === 'string' ? signText(text, by) : readArmored(by(text));
  return { ...named, data: { ...named.data, signature } } as NewAct;
}

function signText(text: Buffer, pem: string): ActSignature {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`it is a key of type ${key.asymmetricKeyType}`);
  return { key: writePublicKey(createPublicKey(key)), value: sign(null, text, key).toString('base64') };
}

/** Whether the act is signed with this public key; without one, with the key that it names itself. */
export function isSigned(account: string, act: NewAct, publicKey = act.data.signature?.key ?? ''): boolean {
  const { signature } = act.data;
  const key = readPublicKey(publicKey);
  if (signature === undefined || key === undefined) return false;
  const text = composeText(account, act);
  const value = Buffer.from(signature.value, 'base64');
  if (signature.form === undefined) return verify(null, text, key, value);
  const read = readSshSignature(value);
  return read !== undefined && isSameKey(read.key, publicKey) && verify(null, read.wrap(text), key, read.value);
}

/** What the signature is for: one that a key of OpenSSH made for something else, such as a commit, is none of an act. */
export const SSH_NAMESPACE = 'perp-runbook';
const SSH_MAGIC = Buffer.from('SSHSIG');
const HASHES: ReadonlySet<string> = new Set(['sha256', 'sha512']);

/** Reads the lines that `ssh-keygen -Y sign` prints. Throws an Error for any other text, and for a key that is not of Ed25519. */
function readArmored(text: string): ActSignature {
  const [, body = ''] =
    /^-----BEGIN SSH SIGNATURE-----\n([A-Za-z0-9+/=\n]+)-----END SSH SIGNATURE-----\n?$/.exec(text) ?? [];
  const bytes = Buffer.from(body, 'base64');
  const read = readSshSignature(bytes);
  if (read === undefined) throw new Error('it is no signature of an Ed25519 key by ssh-keygen');
  const key = readPublicKey(read.key);
  return { key: key === undefined ? '' : writePublicKey(key), value: bytes.toString('base64'), form: 'ssh' };
}

interface SshSignature {
  /** As OpenSSH writes it, without its type. */
  readonly key: string;
  /** The 64 bytes of Ed25519. */
  readonly value: Buffer;
  /** What was signed of a text: its hash in a wrapper of its own. */
  wrap(text: Buffer): Buffer;
}

/** Magic, version 1, public key, namespace, reserved, hash, signature; each a string but the first two. */
function readSshSignature(bytes: Buffer): SshSignature | undefined {
  if (!bytes.subarray(0, 10).equals(Buffer.concat([SSH_MAGIC, Buffer.from([0, 0, 0, 1])]))) return undefined;
  const [key, namespace, reserved, hash, signature, ...more] = readStrings(bytes.subarray(10)) ?? [];
  const [type, value, ...rest] = readStrings(signature ?? Buffer.alloc(0)) ?? [];
  const hashName = hash?.toString() ?? '';
  if (key === undefined || reserved === undefined || value?.length !== 64 || more.length + rest.length > 0)
    return undefined;
  if (namespace?.toString() !== SSH_NAMESPACE || type?.toString() !== 'ssh-ed25519' || !HASHES.has(hashName))
    return undefined;
  const texts = (text: Buffer) => [
    namespace,
    reserved,
    Buffer.from(hashName),
    createHash(hashName).update(text).digest(),
  ];
  return {
    key: key.toString('base64'),
    value,
    wrap: (text) => Buffer.concat([SSH_MAGIC, ...texts(text).flatMap((each) => [writeLength(each), each])]),
  };
}

/** Strings of SSH: each has its length before it, in four bytes. Undefined where the last one is cut short. */
function readStrings(bytes: Buffer): readonly Buffer[] | undefined {
  const strings: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const end = at + 4 <= bytes.length ? at + 4 + bytes.readUInt32BE(at) : Number.POSITIVE_INFINITY;
    if (end > bytes.length) return undefined;
    strings.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return strings;
}

function writeLength({ length }: Buffer): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(length);
  return bytes;
}

function composeText(account: string, { type, by, at, data }: NewAct): Buffer {
  const { signature: _signature, ...signed } = data;
  return Buffer.from(JSON.stringify(['perp-runbook act', account, type, by, at, signed]));
}
