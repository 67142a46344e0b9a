// Checks and times graph_pass.cuh with random weights.
#include <algorithm>
#include <cmath>
#include <functional>
#include <thread>
#include "graph_pass.cuh"
#include "host.cuh"

constexpr int C = CHANNELS, F = HIDDEN, L = 4, FE = FEATURES, IN = INPUTS, CLASSES = 10;
static float uniform() { return std::uniform_real_distribution<float>(-1, 1)(rng); }

struct Tensor { vector<float> host; bf16 *device = nullptr; };
static Tensor make(size_t n, const std::function<float()> &f) {
  Tensor t; t.host.resize(n); vector<unsigned short> bits(n);
  for (size_t i = 0; i < n; i++) bits[i] = to_bf16(f()), t.host[i] = from_bf16(bits[i]);
  CHECK(cudaMalloc(&t.device, n * 2 + 16)); CHECK(cudaMemcpy(t.device, bits.data(), n * 2, cudaMemcpyHostToDevice));
  return t;
}
template <class T> static T *upload(const vector<T> &v) {
  T *p; CHECK(cudaMalloc(&p, v.size() * sizeof(T) + 16)); CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice)); return p;
}


struct HostLayer { Tensor n1w, n1b, qw, qb, ew, n2w, n2b, uw, ub, dw, db; };
struct Net { Tensor pw, pb, nw, nb, hw, hb; vector<HostLayer> layers; };
struct Batch { int graphs; vector<unsigned> offsets, row_ptr, col_idx; Tensor x, edges; unsigned *d_offsets, *d_row_ptr, *d_col_idx; };

static Net make_net() {
  auto weight = [](size_t n, size_t k) { return make(n * k, [k] { return normal() / std::sqrt(float(k)); }); };
  auto vec = [](size_t n) { return make(n, [] { return .1f * normal(); }); };
  auto gain = [](size_t n) { return make(n, [] { return 1 + .1f * normal(); }); };
  Net net; net.pw = weight(C, IN), net.pb = vec(C), net.nw = gain(C), net.nb = vec(C), net.hw = weight(CLASSES, C), net.hb = vec(CLASSES);
  for (int l = 0; l < L; l++) {
    HostLayer h; h.n1w = gain(C), h.n1b = vec(C), h.qw = weight(4 * C, C), h.qb = vec(4 * C), h.ew = weight(C, FE), h.n2w = gain(C), h.n2b = vec(C);
    h.uw = weight(F, C), h.ub = vec(F), h.dw = weight(C, F), h.db = vec(C); net.layers.push_back(h);
  }
  return net;
}
static Batch make_batch(int graphs, bool regular) {
  Batch b; b.graphs = graphs; b.offsets = {0}; b.row_ptr = {0};
  for (int g = 0; g < graphs; g++) {
    unsigned n = regular ? 32 : 1 + rng() % 32, first = b.offsets.back(), edges = 0;
    if (!regular && g == 3) n = 32;
    for (unsigned i = 0; i < n; i++) {
      unsigned d = regular ? 4 : g == 3 ? 14 : (rng() % 5 == 0 ? rng() % 30 : rng() % 8);
      if (edges + d > MAX_EDGES) d = 0;
      edges += d;
      for (unsigned e = 0; e < d; e++) b.col_idx.push_back(first + rng() % n);
      b.row_ptr.push_back(b.col_idx.size());
    }
    b.offsets.push_back(first + n);
  }
  b.x = make(size_t(b.offsets.back()) * IN, uniform), b.edges = make(b.col_idx.size() * FE, uniform);
  b.d_offsets = upload(b.offsets), b.d_row_ptr = upload(b.row_ptr), b.d_col_idx = upload(b.col_idx);
  return b;
}

// y = x w^T + b
static void linear(const vector<double> &x, int n, int k, const Tensor &w, const Tensor &b, int m, vector<double> &y) {
  y.assign(size_t(n) * m, 0);
  for (int i = 0; i < n; i++) for (int o = 0; o < m; o++) {
    double s = 0; for (int c = 0; c < k; c++) s += x[size_t(i) * k + c] * w.host[size_t(o) * k + c];
    y[size_t(i) * m + o] = s + b.host[o];
  }
}
static void layer_norm(const vector<double> &x, int n, const Tensor &w, const Tensor &b, vector<double> &y) {
  y.resize(size_t(n) * C);
  for (int i = 0; i < n; i++) {
    double m = 0, v = 0; for (int c = 0; c < C; c++) m += x[i * C + c]; m /= C;
    for (int c = 0; c < C; c++) v += (x[i * C + c] - m) * (x[i * C + c] - m); v /= C;
    for (int c = 0; c < C; c++) y[i * C + c] = (x[i * C + c] - m) / std::sqrt(v + 1e-5) * w.host[c] + b.host[c];
  }
}
// One graph; `rounded`: as the kernel rounds h, q, k, v and u.
static void reference(const Net &net, const Batch &b, int g, bool rounded, double *logits) {
  int first = b.offsets[g], n = b.offsets[g + 1] - first; vector<double> x0(size_t(n) * IN), x, h, y, u;
  auto round = [&](vector<double> &v) { if (rounded) for (double &a : v) a = rnd(float(a)); };
  for (size_t i = 0; i < x0.size(); i++) x0[i] = b.x.host[size_t(first) * IN + i];
  linear(x0, n, IN, net.pw, net.pb, C, x);
  for (auto &l : net.layers) {
    layer_norm(x, n, l.n1w, l.n1b, h); round(h);
    linear(h, n, C, l.qw, l.qb, 4 * C, y);
    const double scale = 1 / std::sqrt(32.) * 1.4426950408889634;
    for (int i = 0; i < n; i++) for (int c = 0; c < 3 * C; c++) { double &a = y[i * 4 * C + c]; if (c < C) a *= scale; if (rounded) a = rnd(float(a)); }
    for (int i = 0; i < n; i++) for (int hd = 0; hd < 4; hd++) {
      int e0 = b.row_ptr[first + i], e1 = b.row_ptr[first + i + 1]; vector<double> s; double mx = -1e300, tot = 0;
      auto we = [&](int e, int c) { double a = 0; for (int f = 0; f < FE; f++) a += double(l.ew.host[c * FE + f]) * b.edges.host[size_t(e) * FE + f]; return a; };
      for (int e = e0; e < e1; e++) {
        int j = b.col_idx[e] - first; double a = 0;
        for (int c = hd * 32; c < hd * 32 + 32; c++) a += y[i * 4 * C + c] * (y[j * 4 * C + C + c] + we(e, c));
        s.push_back(a), mx = std::max(mx, a);
      }
      for (double &a : s) a = std::exp2(a - mx), tot += a;
      for (int c = hd * 32; c < hd * 32 + 32; c++) {
        double a = 0; for (int e = e0; e < e1; e++) a += s[e - e0] / tot * (y[(b.col_idx[e] - first) * 4 * C + 2 * C + c] + we(e, c));
        x[i * C + c] += a + y[i * 4 * C + 3 * C + c];
      }
    }
    layer_norm(x, n, l.n2w, l.n2b, h); round(h);
    linear(h, n, C, l.uw, l.ub, F, u);
    for (double &a : u) a = a * .5 * (1 + std::erf(a / std::sqrt(2.))); round(u);
    linear(u, n, F, l.dw, l.db, C, y);
    for (size_t i = 0; i < x.size(); i++) x[i] += y[i];
  }
  vector<double> m(C, 0.); for (int i = 0; i < n; i++) for (int c = 0; c < C; c++) m[c] += x[i * C + c] / n;
  layer_norm(m, 1, net.nw, net.nb, h); linear(h, 1, C, net.hw, net.hb, CLASSES, y);
  for (int k = 0; k < CLASSES; k++) logits[k] = y[k];
}
static void references(const Net &net, const Batch &b, bool rounded, vector<double> &out) {
  out.resize(b.graphs * CLASSES); vector<std::thread> ts; int T = std::max(1u, std::thread::hardware_concurrency());
  for (int t = 0; t < T; t++) ts.emplace_back([&, t] { for (int g = t; g < b.graphs; g += T) reference(net, b, g, rounded, &out[g * CLASSES]); });
  for (auto &t : ts) t.join();
}

static Params params_of(const Net &net, const Batch &b, int cluster, bf16 *logits) {
  Params p; memset(&p, 0, sizeof p); unsigned part = TILE_ROWS / cluster;
  p.x = map_of(b.x.device, b.offsets.back(), IN, NODES), p.proj_in = map_of(net.pw.device, C, IN, part);
  for (int l = 0; l < L; l++) {
    auto &h = net.layers[l];
    p.qkv_skip[l] = map_of(h.qw.device, 4 * C, C, part), p.up[l] = map_of(h.uw.device, F, C, part), p.down[l] = map_of(h.dw.device, C, F, part);
    p.layers[l] = {h.n1w.device, h.n1b.device, h.n2w.device, h.n2b.device, h.qb.device, h.ub.device, h.db.device, h.ew.device};
  }
  p.proj_in_b = net.pb.device, p.edges = b.edges.device, p.norm_w = net.nw.device, p.norm_b = net.nb.device, p.head_w = net.hw.device, p.head_b = net.hb.device;
  p.offsets = b.d_offsets, p.row_ptr = b.d_row_ptr, p.col_idx = b.d_col_idx, p.logits = logits, p.layer_count = L, p.classes = CLASSES, p.eps = 1e-5f;
  return p;
}
static void launch_with(cudaLaunchConfig_t &c, void (*k)(const Params), const Params &p, long long *) { CHECK(cudaLaunchKernelEx(&c, k, p)); }
static void launch(int cluster, int graphs, const Params &p, long long *profile, cudaStream_t s) {
  auto kernel = graph_pass_bf16;
  CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shared::BYTES));
  cudaLaunchConfig_t c = {}; c.gridDim = graphs, c.blockDim = THREADS, c.dynamicSmemBytes = Shared::BYTES, c.stream = s;
  cudaLaunchAttribute a; a.id = cudaLaunchAttributeClusterDimension; a.val.clusterDim = {unsigned(cluster), 1, 1};
  c.attrs = &a, c.numAttrs = cluster > 1;
  launch_with(c, kernel, p, profile);
}
static double median(vector<float> v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; }
static double graph_us(int cluster, int graphs, const Params &p, int nodes, int samples, long long *profile) {
  cudaStream_t s; CHECK(cudaStreamCreate(&s)); cudaGraph_t g; cudaGraphExec_t x;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
  for (int i = 0; i < nodes; i++) launch(cluster, graphs, p, profile, s);
  CHECK(cudaStreamEndCapture(s, &g)); CHECK(cudaGraphInstantiate(&x, g, 0)); CHECK(cudaGraphUpload(x, s));
  cudaEvent_t a, b; cudaEventCreate(&a), cudaEventCreate(&b); vector<float> v;
  for (int i = 0; i < samples + 10; i++) {
    cudaEventRecord(a, s); CHECK(cudaGraphLaunch(x, s)); cudaEventRecord(b, s); CHECK(cudaStreamSynchronize(s));
    float ms; cudaEventElapsedTime(&ms, a, b); if (i >= 10) v.push_back(ms * 1e3f / nodes);
  }
  return median(v);
}

int main(int argc, char **argv) {
  bool check = argc > 1 && !strcmp(argv[1], "check"), brief = argc > 1 && !check; // times only
  find_encode();
  Net net = make_net(); bf16 *logits; CHECK(cudaMalloc(&logits, 65536)); long long *profile; CHECK(cudaMalloc(&profile, 256 * 64 * 8));
  Batch regular = make_batch(128, true);
  if (!brief) {
    cudaDeviceProp prop; cudaGetDeviceProperties(&prop, 0); printf("%s Params %zu bytes shared %u\n", prop.name, sizeof(Params), Shared::BYTES);
    Batch odd = make_batch(128, false);
    for (Batch *b : {&regular, &odd}) {
      vector<double> exact, rounded; references(net, *b, false, exact), references(net, *b, true, rounded);
      double largest = 0; for (double v : exact) largest = std::max(largest, std::fabs(v));
      for (int cluster : {1}) {
        CHECK(cudaMemset(logits, 0xff, 65536));
        launch(cluster, b->graphs, params_of(net, *b, cluster, logits), profile, 0); CHECK(cudaDeviceSynchronize());
        vector<unsigned short> y(b->graphs * CLASSES); CHECK(cudaMemcpy(y.data(), logits, y.size() * 2, cudaMemcpyDeviceToHost));
        double d1 = 0, d2 = 0, d3 = 0; int bad = 0;
        for (size_t i = 0; i < y.size(); i++) { double v = from_bf16(y[i]); if (!(std::fabs(v) < 1e9)) bad++; else d1 = std::max(d1, std::fabs(v - exact[i])), d2 = std::max(d2, std::fabs(v - rounded[i])), d3 = std::max(d3, (std::fabs(v - rounded[i])) / (std::fabs(v) / 256 + 1e-3)); }
        printf("%s cluster %d: largest logit %.3f; difference from f64 %.5f, from f64 rounded as the kernel %.5f (%.2f of |y|/256 + 0.001); not finite %d\n", b == &regular ? "regular" : "odd", cluster, largest, d1, d2, d3, bad);
      }
    }
  }
  if (check) return 0;
  for (int cluster : {1}) {
    Params p = params_of(net, regular, cluster, logits);
    double one = graph_us(cluster, 128, p, 1, brief ? 100 : 300, profile), many = graph_us(cluster, 128, p, 20, 50, profile);
    printf("%s cluster %d: graph of 1: %.2f us, graph of 20: %.2f us each\n", brief ? argv[1] : "times", cluster, one, many);
  }
#ifdef PROFILE
  for (int cluster : {1}) {
    Params p = params_of(net, regular, cluster, logits); for (int i = 0; i < 5; i++) launch(cluster, 128, p, profile, 0); CHECK(cudaDeviceSynchronize());
    vector<long long> t(128 * 64); CHECK(cudaMemcpy(t.data(), profile, t.size() * 8, cudaMemcpyDeviceToHost));
    printf("cycles, mean over blocks, cluster %d: start-up %s", cluster, "");
    auto d = [&](int i, int j) { double s = 0; for (int g = 0; g < 128; g++) s += t[g * 64 + j] - t[g * 64 + i]; return s / 128; };
    printf("proj %.0f; ", d(0, 1));
    for (int l = 0; l < L; l++) { printf("[%d] ", l); const char *names[] = {"norm1", "qkv", "attend", "norm2", "up", "down"}; for (int i = 0; i < 6; i++) printf("%s %.0f ", names[i], d(1 + 6 * l + i, 2 + 6 * l + i)); }
    printf("; classify %.0f; all %.0f\n", d(1 + 6 * L, 2 + 6 * L), d(0, 2 + 6 * L));
  }
#endif
}
