/**
 * Signs an act with the Ed25519 key of a person, and verifies it. The signature covers the account and everything that the act says but
 * the signature itself; the chain covers its place. A public key is written as OpenSSH does (`ssh-ed25519 …`), or as the base64 of
 * its DER form, which is the middle line of a PEM file.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
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

/** The act with its signature. `pem`: an Ed25519 private key. Throws an Error for any other text. */
export function signAct(account: string, act: NewAct, pem: string): NewAct {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`it is a key of type ${key.asymmetricKeyType}`);
  const who: Who | undefined = act.data.who && { ...act.data.who, how: 'signed' };
  const named = { ...act, data: { ...act.data, ...(who === undefined ? {} : { who }) } } as NewAct;
  const value = sign(null, composeText(account, named), key).toString('base64');
  const signature: ActSignature = { key: writePublicKey(createPublicKey(key)), value };
  return { ...named, data: { ...named.data, signature } } as NewAct;
}

/** Whether the act is signed with this public key; without one, with the key that it names itself. */
export function isSigned(account: string, act: NewAct, publicKey = act.data.signature?.key ?? ''): boolean {
  const { signature } = act.data;
  const key = readPublicKey(publicKey);
  if (signature === undefined || key === undefined) return false;
  return verify(null, composeText(account, act), key, Buffer.from(signature.value, 'base64'));
}

function composeText(account: string, { type, by, at, data }: NewAct): Buffer {
  const { signature: _signature, ...signed } = data;
  return Buffer.from(JSON.stringify(['perp-runbook act', account, type, by, at, signed]));
}
