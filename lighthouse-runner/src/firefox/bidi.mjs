/** WebDriver BiDi, as far as a load needs it: commands, their results, and events. */

import {once} from 'node:events';

import WebSocket from 'ws';

// The lab's certificate is nobody's, and nobody is there to answer what a page asks.
const CAPABILITIES = {alwaysMatch: {acceptInsecureCerts: true, unhandledPromptBehavior: {default: 'dismiss', beforeUnload: 'accept'}}};

// A film can be some tens of MB.
const MESSAGE_MAX_BYTES = 2 ** 29;

export class Bidi {
  /** Open a session with a browser that listens at `url`. onEvent({method, params}) is called with each event that is subscribed to. */
  static async open(url, onEvent) {
    const socket = new WebSocket(`${url}/session`, {maxPayload: MESSAGE_MAX_BYTES, perMessageDeflate: false});
    await once(socket, 'open'); // an error rejects
    const bidi = new Bidi(socket, onEvent);
    bidi.capabilities = (await bidi.call('session.new', {capabilities: CAPABILITIES})).capabilities;
    return bidi;
  }

  constructor(socket, onEvent) {
    this.socket = socket;
    this.waiting = new Map();
    this.calls = 0;
    socket.on('message', data => {
      const message = JSON.parse(data);
      if (message.type === 'event') onEvent(message);
      else this.settle(message);
    });
    socket.on('error', error => this.giveUp(error.message));
    socket.on('close', () => this.giveUp('Firefox has closed the connection'));
  }

  /** The result of a command. Throws BidiError if the browser refuses it, and another error if the connection is lost. */
  call(method, params = {}) {
    const id = ++this.calls;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, {method, resolve, reject});
      this.socket.send(JSON.stringify({id, method, params}), error => error && this.giveUp(error.message));
    });
  }

  /** What a function returns in a context, which must be a value of JSON; so must its arguments. Throws BidiError also for what it throws. */
  async run(context, toRun, args = [], {sandbox} = {}) {
    const functionDeclaration = `async (args) => JSON.stringify(await (${toRun})(...JSON.parse(args)) ?? null)`;
    const target = sandbox === undefined ? {context} : {context, sandbox};
    const given = [{type: 'string', value: JSON.stringify(args)}];
    const {type, result, exceptionDetails} = await this.call('script.callFunction', {functionDeclaration, target, arguments: given, awaitPromise: true});
    if (type !== 'success') throw new BidiError('script.callFunction', exceptionDetails.text);
    return JSON.parse(result.value);
  }

  close() {
    this.socket.terminate();
  }

  settle({id, type, result, message}) {
    const {method, resolve, reject} = this.waiting.get(id) ?? {};
    if (!this.waiting.delete(id)) return;
    if (type === 'error') reject(new BidiError(method, message));
    else resolve(result);
  }

  giveUp(why) {
    for (const {reject} of this.waiting.values()) reject(new Error(why));
    this.waiting.clear();
  }
}

export class BidiError extends Error {
  constructor(method, text) {
    super(`${method}: ${text}`);
    this.name = 'BidiError';
    this.text = text;
  }

  /** Firefox's code for what went wrong, such as "NS_ERROR_UNKNOWN_HOST", from its words for it; FAILED if there is none in them. */
  get code() {
    return this.text.match(/NS_\w+|(?<=about:neterror\?e=)\w+/)?.[0] ?? 'FAILED';
  }
}
