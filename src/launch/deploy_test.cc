// The files of deploy/, held against those who read them.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/env.h"
#include "base/format.h"
#include "launch/cluster.h"
#include "launch/host_list.h"

namespace espalier {
namespace {

using Deployed = std::map<std::string, std::string>;

// What a command writes, and how it ends.
std::pair<std::string, int> answer_of(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(command.c_str(), "r");
  char part[4096];
  while (const size_t bytes = std::fread(part, 1, sizeof part, pipe)) out.append(part, bytes);
  return {out, ::pclose(pipe)};
}

// Those that resolve() asks for.
std::set<std::string> variables_read(const Deployed& variables, ResolvedPlace* place = nullptr) {
  std::set<std::string> out = {"ESPALIER_THREADS", "ESPALIER_SECRET"};  // by the pool of threads, by workers
  const ResolvedPlace found = resolve([&](const std::string& name) {
    out.insert(name);
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional<std::string>(at->second);
  });
  if (place) *place = found;
  return out;
}

std::set<std::string> matches_in(const std::string& text, const std::string& pattern) {
  std::set<std::string> out;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) out.insert((*at)[1]);
  return out;
}

TEST(Deploy, Hostfile) {
  EXPECT_EQ(to_string(parse_hostfile(posix_env().read_file("deploy/hostfile"))), "node1:4,node2:4");
}

TEST(Deploy, SlurmScript) {
  EXPECT_EQ(answer_of("bash -n deploy/slurm.sh 2>&1"), (std::pair<std::string, int>{"", 0}));
  const std::string text = posix_env().read_file("deploy/slurm.sh");
  EXPECT_EQ(matches_in(text, "\n#SBATCH --([a-z-]+)="),
            (std::set<std::string>{"job-name", "nodes", "ntasks-per-node", "cpus-per-task", "time", "signal",
                                   "open-mode", "output"}));
  // sbatch stops reading them at the first command.
  EXPECT_EQ(matches_in(text.substr(text.find("\nset ")), "(#SBATCH)").size(), 0u);
  const std::set<std::string> read =
      variables_read({{"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}});
  std::string sentence = text.substr(text.find("# Workers find each other by"));
  sentence.resize(sentence.find(". For engine"));
  const std::set<std::string> named = matches_in(sentence, "(SLURM_[A-Z_]+)");
  EXPECT_EQ(named.size(), 4u);
  for (const std::string& name : named) EXPECT_TRUE(read.contains(name)) << name;
  for (const std::string& name : matches_in(text, "export (ESPALIER_[A-Z]+)="))
    EXPECT_TRUE(read.contains(name)) << name;
}

TEST(Deploy, SbatchTakesTheOptionsOfTheScript) {
  if (answer_of("sbatch --version 2>&1").second != 0) GTEST_SKIP() << "sbatch is not there (slurm-client)";
  // It reads options before it sees that help is asked for, and ends with 1 at one that it does not know.
  std::string options;
  for (const std::string& option :
       matches_in(posix_env().read_file("deploy/slurm.sh"), "\n#SBATCH (--[^ \n]+)"))
    options += cat(" '", option, "'");
  EXPECT_NE(options, "");
  EXPECT_EQ(answer_of(cat("sbatch", options, " --help 2>&1 > /dev/null")),
            (std::pair<std::string, int>{"", 0}));
  EXPECT_NE(answer_of(cat("sbatch", options, " --no-such-option --help 2>&1 > /dev/null")).second, 0);
}

TEST(Deploy, JobSet) {
  if (answer_of("python3 -c 'import yaml' 2>&1").second != 0)
    GTEST_SKIP() << "python3 has no yaml (python3-yaml)";
  const auto [text, code] = answer_of(
      "python3 -c 'import json, yaml; "
      "print(json.dumps(list(yaml.safe_load_all(open(\"deploy/jobset.yaml\")))))'");
  ASSERT_EQ(code, 0);
  const auto documents = nlohmann::json::parse(text);
  ASSERT_EQ(documents.size(), 2u);
  const auto &service = documents[0], &set = documents[1];
  EXPECT_EQ(service["kind"], "Service");
  EXPECT_EQ(service["spec"]["clusterIP"], "None");
  EXPECT_EQ(set["apiVersion"], "jobset.x-k8s.io/v1alpha2");
  EXPECT_EQ(set["kind"], "JobSet");
  const std::string name = set["metadata"]["name"], subdomain = set["spec"]["network"]["subdomain"];
  EXPECT_EQ(service["metadata"]["name"], subdomain);
  EXPECT_EQ(service["spec"]["selector"]["jobset.sigs.k8s.io/jobset-name"], name);

  // The keys that a cluster knows at these places; it drops others without a word.
  const auto known = [](const nlohmann::json& object, const std::set<std::string>& keys) {
    for (const auto& [key, value] : object.items()) EXPECT_TRUE(keys.contains(key)) << key;
  };
  known(set["spec"],
        {"network", "failurePolicy", "replicatedJobs", "successPolicy", "startupPolicy", "suspend"});
  known(set["spec"]["network"], {"enableDNSHostnames", "publishNotReadyAddresses", "subdomain"});
  known(set["spec"]["failurePolicy"], {"maxRestarts", "restartStrategy", "rules"});
  ASSERT_EQ(set["spec"]["replicatedJobs"].size(), 1u);
  const auto& replicated = set["spec"]["replicatedJobs"][0];
  known(replicated, {"name", "replicas", "template"});
  const auto& job = replicated["template"]["spec"];
  known(job, {"completionMode", "parallelism", "completions", "backoffLimit", "template"});
  EXPECT_EQ(job["completionMode"], "Indexed");
  EXPECT_EQ(replicated["replicas"], 1);
  const int pods = job["completions"];
  EXPECT_EQ(job["parallelism"], pods);

  const auto& container = job["template"]["spec"]["containers"][0];
  Deployed variables;
  for (const auto& variable : container["env"]) {
    const bool is_secret = variable.contains("valueFrom");
    EXPECT_EQ(is_secret, variable["name"] == "ESPALIER_SECRET") << "it would stand in the manifest";
    if (is_secret) known(variable["valueFrom"]["secretKeyRef"], {"name", "key", "optional"});
    variables[variable["name"]] = is_secret ? "of the cluster" : variable["value"].get<std::string>();
  }
  EXPECT_EQ(variables["ESPALIER_PODS"], cat(pods));
  EXPECT_EQ(cat(container["ports"][0]["containerPort"].get<int>()), variables["ESPALIER_PORT"]);
  EXPECT_EQ(container["resources"]["limits"]["cpu"], variables["ESPALIER_THREADS"]);
  for (int pod = 0; pod < pods; ++pod) {
    variables["JOB_COMPLETION_INDEX"] = cat(pod);  // by Kubernetes
    ResolvedPlace found;
    const std::set<std::string> read = variables_read(variables, &found);
    for (const auto& [variable, value] : variables) EXPECT_TRUE(read.contains(variable)) << variable;
    EXPECT_EQ(found.place.source, "Kubernetes");
    EXPECT_EQ(found.place.rank, pod);
    EXPECT_EQ(found.place.world, pods);
    // As JobSet names its pods.
    const std::string host =
        cat(name, "-", replicated["name"].get<std::string>(), "-0-", pod, ".", subdomain);
    EXPECT_EQ(found.place.hosts[static_cast<size_t>(pod)], host);
  }
}

}  // namespace
}  // namespace espalier
