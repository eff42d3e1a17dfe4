'use strict';
// Sends the HTTP traffic of a Node program through the proxy that HTTPS_PROXY and HTTP_PROXY name.
//
// Loaded with NODE_OPTIONS=--require=… before the program. Newer Nodes do part of this by themselves when
// NODE_USE_ENV_PROXY is set. What Node sends through a proxy is left to it, so that nothing is proxied twice:
//
//   fetch                                 ours in Node 20, 23, and 22 before 22.21
//   http and https, the global agents     ours in Node 20, 23, 22 before 22.21, and 24 before 24.5
//   http and https, a program's agents    ours
//   http2.connect                         ours
//   WebSocket packages such as ws         ours
//
// There is no dependency. If some part of Node is not as expected, that part stays as it was.

const net = require('node:net');
const tls = require('node:tls');
const http = require('node:http');
const https = require('node:https');
const http2 = require('node:http2');
const { Duplex } = require('node:stream');

// ---------------------------------------------------------------------------------------------------------
// Which proxy for which target

const proxies = {
  'https:': proxyAt(variable('https_proxy')),
  'http:': proxyAt(variable('http_proxy')),
};
const direct = (variable('no_proxy') || '').toLowerCase().split(/[\s,]+/).filter(Boolean);

/** A variable by its lower-case or else its upper-case name. */
function variable(name) {
  return process.env[name] || process.env[name.toUpperCase()];
}

/** The proxy's address and the credentials it wants, or null if there is none that we can speak to. */
function proxyAt(value) {
  if (!value) return null;
  let url;
  try {
    url = new URL(value.includes('://') ? value : `http://${value}`);
  } catch {
    return null;
  }
  if (url.protocol !== 'http:') return null;
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return {
    host: bare(url.hostname),
    port: Number(url.port) || 80,
    authorization: credentials === ':' ? null : `Basic ${Buffer.from(credentials).toString('base64')}`,
  };
}

/** The proxy to take to a target, or null if the target is to be reached directly. */
function proxyFor(protocol, host, port) {
  const proxy = proxies[protocol];
  if (!proxy || isDirect(host.toLowerCase(), port)) return null;
  // A client that knows proxies by itself (axios, npm) connects to the proxy: that connection is not for us.
  const isProxy = Object.values(proxies).some((known) => known && known.host === host && known.port === port);
  return isProxy ? null : proxy;
}

/** Whether an entry of NO_PROXY covers the host: `*`, `host`, `.domain`, `*.domain`, each with `:port` or not. */
function isDirect(host, port) {
  return direct.some((entry) => {
    if (entry === '*') return true;
    let name = entry;
    const withPort = net.isIPv6(entry) ? null : /^(.+):(\d+)$/.exec(entry);
    if (withPort) {
      if (Number(withPort[2]) !== port) return false;
      name = withPort[1];
    }
    name = bare(name).replace(/^\*?\./, '');
    return host === name || host.endsWith(`.${name}`);
  });
}

/** An IPv6 address without its brackets. */
function bare(host) {
  return host.replace(/^\[(.*)\]$/, '$1');
}

// ---------------------------------------------------------------------------------------------------------
// The tunnel

/**
 * A connection to a target through the proxy's CONNECT.
 *
 * It can be used at once: what is written waits until the proxy has agreed. That matters because agents such
 * as agentkeepalive need a socket in their hands before anything is connected.
 */
class Tunnel extends Duplex {
  #socket;
  #open = false;
  #answer = Buffer.alloc(0);
  #whenOpen = [];

  constructor(proxy, host, port) {
    super({ allowHalfOpen: false });
    const target = `${net.isIPv6(host) ? `[${host}]` : host}:${port}`;
    const socket = net.connect({ host: proxy.host, port: proxy.port });
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('error', (error) => this.destroy(error));
    socket.on('timeout', () => this.emit('timeout'));
    socket.on('data', (chunk) => {
      if (!this.#open) this.#readAnswer(chunk, target);
      else if (!this.push(chunk)) socket.pause();
    });
    socket.on('end', () => {
      if (this.#open) this.push(null);
    });
    socket.on('close', () => {
      if (!this.#open) this.destroy(tunnelError(`the proxy closed the connection before it answered CONNECT ${target}`));
    });
    const authorization = proxy.authorization ? `Proxy-Authorization: ${proxy.authorization}\r\n` : '';
    socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`);
  }

  #readAnswer(chunk, target) {
    this.#answer = Buffer.concat([this.#answer, chunk]);
    const end = this.#answer.indexOf('\r\n\r\n');
    if (end < 0) {
      if (this.#answer.length > 65536) this.destroy(tunnelError(`the proxy's answer to CONNECT ${target} has no end`));
      return;
    }
    const status = this.#answer.toString('latin1', 0, this.#answer.indexOf('\r\n'));
    if (!/^HTTP\/1\.[01] 2\d\d\b/.test(status)) {
      this.destroy(tunnelError(`the proxy answered CONNECT ${target} with ${status}`));
      return;
    }
    const rest = this.#answer.subarray(end + 4);
    this.#answer = null;
    this.#open = true;
    if (rest.length > 0 && !this.push(rest)) this.#socket.pause();
    for (const action of this.#whenOpen) action();
    this.emit('connect');
  }

  #onceOpen(action) {
    if (this.#open) action();
    else this.#whenOpen.push(action);
  }

  _read() {
    this.#socket.resume();
  }

  _write(chunk, encoding, done) {
    this.#onceOpen(() => this.#socket.write(chunk, encoding, done));
  }

  _final(done) {
    this.#onceOpen(() => this.#socket.end(done));
  }

  _destroy(error, done) {
    this.#socket.destroy();
    done(error);
  }

  // What HTTP clients ask of a socket.
  ref() {
    this.#socket.ref();
    return this;
  }

  unref() {
    this.#socket.unref();
    return this;
  }

  setTimeout(milliseconds, listener) {
    this.#socket.setTimeout(milliseconds);
    if (listener) this.once('timeout', listener);
    return this;
  }

  setKeepAlive(...settings) {
    this.#socket.setKeepAlive(...settings);
    return this;
  }

  setNoDelay(...settings) {
    this.#socket.setNoDelay(...settings);
    return this;
  }
}

/** The code is the one that Node's own proxy support uses. */
function tunnelError(message) {
  return Object.assign(new Error(message), { code: 'ERR_PROXY_TUNNEL' });
}

/**
 * Gives a TLS socket that runs over a tunnel the tunnel's ref and unref: its own have no effect there, and
 * an idle connection would keep the process from ending.
 */
function withTunnelRefs(socket, tunnel) {
  socket.ref = () => {
    tunnel.ref();
    return socket;
  };
  socket.unref = () => {
    tunnel.unref();
    return socket;
  };
  return socket;
}

/** TLS to a host through a tunnel, verified as Node would without one. */
function tlsOver(tunnel, host, options) {
  const servername = options.servername ?? (net.isIP(host) ? '' : host);
  return withTunnelRefs(tls.connect({ ...options, host, servername, path: undefined, socket: tunnel }), tunnel);
}

/** The host and port that connection options name. */
function targetOf(options, defaultPort) {
  return { host: bare(String(options.host || options.hostname || 'localhost')), port: Number(options.port) || defaultPort };
}

// ---------------------------------------------------------------------------------------------------------
// http and https: at the agents' prototypes, so that agents made by a program are covered too

function routeAgents() {
  const directHttps = https.Agent.prototype.createConnection;
  https.Agent.prototype.createConnection = function createConnection(options, ...rest) {
    const tunnel = tunnelForAgent(this, 'https:', options, 443);
    if (!tunnel) return directHttps.call(this, options, ...rest);
    // Node's own function, for its session cache.
    return withTunnelRefs(directHttps.call(this, { ...options, socket: tunnel }, ...rest), tunnel);
  };
  const directHttp = http.Agent.prototype.createConnection;
  http.Agent.prototype.createConnection = function createConnection(options, ...rest) {
    return tunnelForAgent(this, 'http:', options, 80) || directHttp.call(this, options, ...rest);
  };
}

function tunnelForAgent(agent, protocol, options, defaultPort) {
  if (agent?.options?.proxyEnv) return null; // Node sees to it
  if (!options || typeof options !== 'object' || options.socketPath || options.socket) return null;
  const { host, port } = targetOf(options, defaultPort);
  const proxy = proxyFor(protocol, host, port);
  return proxy && new Tunnel(proxy, host, port);
}

// ---------------------------------------------------------------------------------------------------------
// WebSocket packages: they bring a connection function of their own, which goes past all agents

function routeWebSockets(module, protocol, defaultPort) {
  const request = module.request;
  module.request = function (...args) {
    const at = args.findIndex((arg) => typeof arg?.createConnection === 'function');
    const options = args[at];
    if (options && isWebSocketUpgrade(options)) {
      const url = at > 0 ? parsed(args[0]) : null;
      const { host, port } = targetOf({ host: url?.hostname, port: url?.port, ...options }, defaultPort);
      const proxy = proxyFor(protocol, host, port);
      if (proxy) args[at] = { ...options, createConnection: throughTunnel(proxy, protocol, host, port) };
    }
    return request.apply(this, args);
  };
}

function isWebSocketUpgrade(options) {
  if (options.agent || options.socketPath) return false;
  const headers = Object.entries(options.headers || {});
  return headers.some(([name, value]) => name.toLowerCase() === 'upgrade' && /^websocket$/i.test(value));
}

function throughTunnel(proxy, protocol, host, port) {
  return (options) => {
    const tunnel = new Tunnel(proxy, host, port);
    return protocol === 'https:' ? tlsOver(tunnel, host, options) : tunnel;
  };
}

// ---------------------------------------------------------------------------------------------------------
// http2

function routeHttp2() {
  const connect = http2.connect;
  http2.connect = function (authority, options, listener) {
    if (typeof options === 'function') return http2.connect(authority, undefined, options);
    if (options?.createConnection) return connect.call(this, authority, options, listener);
    const url = authority instanceof URL ? authority : parsed(authority);
    const secure = url?.protocol === 'https:';
    const { host, port } = targetOf({ host: url?.hostname, port: url?.port }, secure ? 443 : 80);
    const proxy = url && proxyFor(url.protocol, host, port);
    if (!proxy) return connect.call(this, authority, options, listener);
    const createConnection = () => {
      const tunnel = new Tunnel(proxy, host, port);
      return secure ? tlsOver(tunnel, host, { ALPNProtocols: ['h2'], ...options }) : tunnel;
    };
    return connect.call(this, authority, { ...options, createConnection }, listener);
  };
}

function parsed(text) {
  try {
    return new URL(text);
  } catch {
    return null; // Node's own function says what is wrong with it
  }
}

// ---------------------------------------------------------------------------------------------------------
// fetch: the undici inside Node, and the package of that name, take their connections from one dispatcher

function routeFetch() {
  if (https.globalAgent.options?.proxyEnv) return; // Node sees to it, once the program starts
  const dispatcherSymbol = Symbol.for('undici.globalDispatcher.1');
  void globalThis.Headers; // loads undici, which sets the dispatcher
  const plain = globalThis[dispatcherSymbol];
  if (plain?.constructor.name !== 'Agent') return; // another one is there on purpose

  class ProxyingAgent extends plain.constructor {
    dispatch(options, handler) {
      const url = parsed(options.origin);
      const port = Number(url?.port) || (url?.protocol === 'https:' ? 443 : 80);
      if (url && proxyFor(url.protocol, bare(url.hostname), port)) return super.dispatch(options, handler);
      return plain.dispatch(options, handler);
    }
  }
  globalThis[dispatcherSymbol] = new ProxyingAgent({ connect: connectForFetch });
}

/** undici's connector: calls back with a socket that is ready for a request. */
function connectForFetch({ protocol, hostname, port, servername }, done) {
  const secure = protocol === 'https:';
  const host = bare(hostname);
  const number = Number(port) || (secure ? 443 : 80);
  const tunnel = new Tunnel(proxyFor(protocol, host, number), host, number);
  const options = { ALPNProtocols: ['http/1.1'], ...(servername ? { servername } : {}) };
  const socket = secure ? tlsOver(tunnel, host, options) : tunnel;
  // undici's own connector gives up after the same time with the same error.
  const timer = setTimeout(() => socket.destroy(connectTimeout()), 10_000);
  const finish = (error) => {
    clearTimeout(timer);
    socket.off('error', finish);
    socket.off(secure ? 'secureConnect' : 'connect', succeed);
    if (error) done(error, null);
    else done(null, socket);
  };
  const succeed = () => finish(null);
  socket.on('error', finish);
  socket.on(secure ? 'secureConnect' : 'connect', succeed);
  return socket;
}

function connectTimeout() {
  const error = new Error('Connect Timeout Error');
  return Object.assign(error, { name: 'ConnectTimeoutError', code: 'UND_ERR_CONNECT_TIMEOUT' });
}

// ---------------------------------------------------------------------------------------------------------

// A program under two of us, one inside the other, has the inner one's variables: one preload is enough.
const done = Symbol.for('wiretape.preload');
if ((proxies['https:'] || proxies['http:']) && !globalThis[done]) {
  Object.defineProperty(globalThis, done, { value: true });
  routeAgents();
  routeWebSockets(https, 'https:', 443);
  routeWebSockets(http, 'http:', 80);
  routeHttp2();
  routeFetch();
}
